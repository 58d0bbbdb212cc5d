"""A stand-in for Podman or Docker: it notes what it is asked, and runs the interpreter of a container on this machine.

`write_runtime` writes it as a program. What it knows is in files beside it: `images`, and `containers` by their names.
"""

import itertools
import json
import os
import signal
import stat
import sys
from pathlib import Path

IMAGE_ID = "ab12" * 16
ABOUT = {
    "Id": f"sha256:{IMAGE_ID}",
    "RepoDigests": ["registry.test/lab@sha256:" + "cd34" * 16],
    "Os": "linux",
    "Architecture": "",
    "Config": {"Env": ["PATH=/opt/lab/bin:/usr/bin:/bin"]},
}
PODMAN = {
    "host": {"security": {"rootless": True}, "idMappings": {"uidmap": [{"size": 1}, {"size": 65536}]}},
    "version": {"Version": "5.4.2"},
}
DOCKER = {"ServerVersion": "28.2.2", "SecurityOptions": ["name=seccomp,profile=default"]}


def write_runtime(folder: Path, name: str, said: object = None, images: object = None, pulled: object = None) -> Path:
    """A program of a name in a folder.

    Args:
        folder: where it is written.
        name: `podman` or `docker`.
        said: what `info` tells; None: as a runtime does that works.
        images: what `image inspect` tells by reference.
        pulled: likewise, after `pull`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = {"info": said or (PODMAN if name == "podman" else DOCKER), "images": images or {}, "pulled": pulled or {}}
    (folder / f"{name}.json").write_text(json.dumps(known))
    program = folder / name
    root = Path(__file__).parents[2]
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        f"from tests.fakes.container_runtime import main\nmain({str(folder)!r}, {name!r}, sys.argv[1:])\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def calls_of(folder: Path) -> list[list[str]]:
    """What the runtimes of a folder were asked."""
    place = folder / "calls"
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def main(place: str, name: str, words: list[str]) -> None:
    """Do what a command asks."""
    folder = Path(place)
    known = json.loads((folder / f"{name}.json").read_text())
    with (folder / "calls").open("a") as file:
        file.write(json.dumps([name, *words]) + "\n")
    if words[0] == "info":
        print(json.dumps(known["info"]))
    elif words[:2] == ["image", "inspect"]:
        _inspect(folder, known, words[2])
    elif words[0] == "pull":
        _pull(folder, known, words[-1])
    elif words[0] == "ps":
        _list(folder, words)
    elif words[0] == "rm":
        _remove(folder, words[-1])
    else:
        _run(folder, words)


def _inspect(folder: Path, known: dict[str, dict[str, object]], reference: str) -> None:
    images = known["images"] | (known["pulled"] if (folder / "pulled").exists() else {})
    if reference not in images:
        sys.exit(f"Error: no such image {reference}")
    print(json.dumps([images[reference]]))


def _pull(folder: Path, known: dict[str, dict[str, object]], reference: str) -> None:
    if reference not in known["pulled"]:
        sys.exit("Trying to pull it\nError: the registry does not answer")
    (folder / "pulled").touch()


def _list(folder: Path, words: list[str]) -> None:
    label = words[words.index("--filter") + 1].removeprefix("label=")
    for path in sorted(folder.glob("*.container")):
        labels = json.loads(path.read_text())["labels"]
        if label in labels:
            print(path.stem, labels[label])


def _remove(folder: Path, name: str) -> None:
    path = folder / f"{name}.container"
    if path.exists():
        pid = json.loads(path.read_text())["pid"]
        path.unlink()
        if pid:
            os.kill(pid, signal.SIGKILL)


def _run(folder: Path, words: list[str]) -> None:
    values: dict[str, list[str]] = {}
    for option, value in itertools.pairwise(words):
        values.setdefault(option, []).append(value)
    mounts = {target: source for source, target, _ in (mount.split(":") for mount in values["--volume"])}
    labels = dict(label.split("=", 1) for label in values["--label"])
    name = values["--name"][0]
    (folder / f"{name}.container").write_text(json.dumps({"labels": labels, "pid": os.getpid()}))
    start = words.index("-s", words.index("--entrypoint"))
    inside, program = os.path.split(words[start + 1])
    arguments = [sys.executable, "-s", os.path.join(mounts[inside], program), *words[start + 2 :]]
    environment = dict(pair.split("=", 1) for pair in values["--env"])
    if os.fork():
        _, status = os.wait()
        (folder / f"{name}.container").unlink(missing_ok=True)
        sys.exit(os.waitstatus_to_exitcode(status) and 125)
    (folder / f"{name}.container").write_text(json.dumps({"labels": labels, "pid": os.getpid()}))
    os.execve(sys.executable, arguments, environment)

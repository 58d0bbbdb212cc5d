"""Images made of this machine's own files: no registry is asked."""

import hashlib
import io
import json
import os
import secrets
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

NAME = "localhost/evolve-test-python:3"
BARE, FOREIGN = "localhost/evolve-test-bare:1", "localhost/evolve-test-foreign:1"
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "tkinter"}
_TOOLS = ("sh", "echo", "cat", "sleep", "true")


def add_images(runtime: str) -> None:
    """Give a runtime the images of the tests, where it does not have them: one with Python, one with a file alone.

    A third is said to be for machines of another kind.
    """
    _take(runtime, NAME, _python, "import", "-", NAME)
    _take(runtime, BARE, _bare, "import", "-", BARE)
    _take(runtime, FOREIGN, _foreign, "load")


def add_rebuilt_image(runtime: str, name: str) -> None:
    """Give a name to the image with Python as it would be after another build: the same content under another id."""
    change = ("--change", f"ENV BUILT={secrets.token_hex(8)}")
    subprocess.run([runtime, "import", *change, "-", name], input=_python(), stdout=subprocess.DEVNULL, check=True)


def _take(runtime: str, name: str, content: Callable[[], bytes], *words: str) -> None:
    if subprocess.run([runtime, "image", "inspect", name], capture_output=True, check=False).returncode:
        subprocess.run([runtime, *words], input=content(), stdout=subprocess.DEVNULL, check=True)


def _foreign() -> bytes:
    """An image as runtimes save it, whose configuration names another kind of machine."""
    layer = _bare()
    configuration = {
        "architecture": "s390x",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [FOREIGN], "Layers": ["layer.tar"]}]
    files = {"config.json": json.dumps(configuration).encode(), "manifest.json": json.dumps(manifest).encode()}
    return _tarred({}, {**files, "layer.tar": layer}, folders=())


def _bare() -> bytes:
    return _tarred({}, {"etc/only": b"a file"})


def _python() -> bytes:
    """The standard library of this interpreter, what it links to, a shell and some tools."""
    library = Path(sysconfig.get_path("stdlib"))
    program = Path(os.path.realpath(sys.executable))
    places = {f"usr/local/lib/{library.name}": library, "usr/local/bin/python3": program}
    tools = {f"bin/{name}": Path(os.path.realpath(f"/bin/{name}")) for name in _TOOLS}
    places |= tools
    for linked in sorted(
        {found for one in (program, *tools.values(), *library.rglob("*.so")) for found in _linked(one)}
    ):
        inside = linked if linked.startswith(("/lib", "/usr/lib")) else f"/usr/lib/{os.path.basename(linked)}"
        places[inside.lstrip("/")] = Path(os.path.realpath(linked))
    return _tarred(places, {"srv/answer": b"42", "srv/people": b"7"})


def _linked(path: Path) -> Iterator[str]:
    told = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    yield from (word for line in told.stdout.splitlines() for word in line.split() if word.startswith("/"))


_FOLDERS = ("proc", "sys", "dev", "tmp")


def _tarred(places: Mapping[str, Path], files: Mapping[str, bytes], folders: Sequence[str] = _FOLDERS) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, source in places.items():
            archive.add(source, name, filter=_kept)
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(content), 0o644
            archive.addfile(about, io.BytesIO(content))
        for name in folders:
            about = tarfile.TarInfo(name)
            about.type, about.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(about)
    return buffer.getvalue()


def _kept(about: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = PurePath(about.name).name
    if name in _LEFT_OUT or name.startswith("config-") or name.endswith(".a"):
        return None
    about.uid = about.gid = 0
    about.uname = about.gname = "root"
    return about

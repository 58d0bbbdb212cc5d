"""What Podman and Docker are asked, and how what they answer is read; `tests/containers` asks real ones."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.problem import EvaluatorSpec
from service.config import SandboxSettings
from service.errors import InvalidProblemError, RefusedError
from service.sandbox import device_pool
from service.sandbox.container import OWNER, PLACE, place_of_containers
from service.sandbox.container_runtime import ContainerImage, find_image, find_runtime, image_of
from service.sandbox.device_monitor import DeviceMonitor
from service.sandbox.devices import Device
from service.sandbox.evaluator import open_evaluator
from tests.fakes.container_runtime import ABOUT, DOCKER, IMAGE_ID, calls_of, write_runtime
from tests.integration.sandbox.bench import ECHO, GOOD, LIMITS, problem, program
from tests.patience import PATIENCE_SECONDS

ENVIRONMENT = "import os\ndef solve():\n    return os.environ['CUDA_VISIBLE_DEVICES']\n"
REFERENCE = "registry.test/lab:1"
Runtimes = Callable[..., Path]


@pytest.fixture
def runtimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtimes:
    """Puts runtimes of these names on a PATH that has no other."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(*names: str, **known: Any) -> Path:
        for name in names:
            write_runtime(folder, name, **{"images": {REFERENCE: ABOUT}, **known})
        return folder

    return write


async def image(**settings: Any) -> ContainerImage:
    found = await image_of(EvaluatorSpec(entry="run", image=REFERENCE), SandboxSettings(**settings))
    assert found is not None
    return found


async def test_a_problem_without_an_image_asks_no_runtime(runtimes: Runtimes) -> None:
    folder = runtimes("podman")
    assert await image_of(EvaluatorSpec(entry="run"), SandboxSettings()) is None
    assert calls_of(folder) == []


async def test_the_runtime_without_rights_of_root_is_chosen_unless_one_is_named(runtimes: Runtimes) -> None:
    runtimes("docker", "podman")
    assert str(await find_runtime()) == "podman 5.4.2, rootless"
    assert str(await find_runtime("docker")) == "docker 28.2.2"
    runtimes("docker", said={**DOCKER, "SecurityOptions": ["name=rootless"]})
    runtimes("podman", said={"host": {"security": {"rootless": False}}, "version": {"Version": "5.4.2"}})
    assert str(await find_runtime()) == "docker 28.2.2, rootless"


async def test_a_machine_without_a_runtime_says_what_each_lacks(runtimes: Runtimes) -> None:
    runtimes()
    with pytest.raises(
        RefusedError, match="podman is not installed; docker is not installed: install Podman, or start"
    ):
        await image()
    runtimes("docker", said={"ServerErrors": ["Cannot connect to the Docker daemon"]})
    with pytest.raises(RefusedError, match=r"docker does not answer \(Cannot connect to the Docker daemon\)"):
        await image()
    with pytest.raises(RefusedError, match=r"on this machine: podman is not installed: install"):
        await image(container_runtime="podman")


async def test_an_image_is_known_by_the_digest_of_its_registry_and_run_by_its_id(runtimes: Runtimes) -> None:
    runtimes("podman")
    found = await image()
    assert found.id == f"sha256:{IMAGE_ID}"
    assert found.digest == "registry.test/lab@sha256:" + "cd34" * 16
    assert found.short_id == "ab12ab12ab12"
    runtimes("podman", images={REFERENCE: {**ABOUT, "Id": IMAGE_ID, "RepoDigests": ["localhost/lab@sha256:ef"]}})
    assert (await image()).digest == f"sha256:{IMAGE_ID}"


async def test_an_image_that_is_not_there_is_pulled_once(runtimes: Runtimes) -> None:
    folder = runtimes("podman", images={}, pulled={REFERENCE: ABOUT})
    assert (await image()).reference == (await image()).reference == REFERENCE
    assert [call for call in calls_of(folder) if call[1] == "pull"] == [["podman", "pull", "--quiet", REFERENCE]]


async def test_an_image_that_nobody_has_or_that_is_for_others_is_refused(runtimes: Runtimes) -> None:
    runtimes("podman", images={})
    with pytest.raises(
        InvalidProblemError, match=r"has no image 'registry.test/lab:1', and it cannot be pulled \(Error"
    ):
        await image()
    runtimes("podman", images={REFERENCE: {**ABOUT, "Architecture": "s390x"}})
    with pytest.raises(InvalidProblemError, match="is for linux/s390x, and this machine is linux/"):
        await find_image(await find_runtime(), REFERENCE)


@pytest.mark.parametrize("name", ["podman", "docker"])
async def test_the_container_has_no_more_than_programs_may_have(runtimes: Runtimes, tmp_path: Path, name: str) -> None:
    folder, data = runtimes(name), tmp_path / "data"
    data.mkdir()
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "evaluator.py").write_text(ECHO)
    stated = problem(image=REFERENCE, read=(str(data),))
    async with open_evaluator(stated, tmp_path / "problem", 2, require=None, image=await image()) as opened:
        assert (await opened.evaluate(GOOD, "evl_1")).scores == {"score": 1.5}
        failed = await opened.evaluate(program("def solve():\n    return [][1]\n"), "evl_2")
        assert failed.outcome is Outcome.ERROR
        assert opened.isolation.endswith("/separate/ab12ab12ab12")
        words, others = [call[2:] for call in calls_of(folder) if call[1] == "run"]
        options = list(itertools.pairwise(words))
        for option in [
            ("--network", "none"), ("--cap-drop", "ALL"), ("--security-opt", "no-new-privileges"), ("--pull", "never"),
            ("--memory-swap", _value(words, "--memory")), ("--pids-limit", str(LIMITS.processes + 64)),
            ("--entrypoint", "python3"), ("python3", f"sha256:{IMAGE_ID}"), ("--log-driver", "none"),
        ]:  # fmt: skip
            assert option in options
        assert "--read-only" in words
        mounted = [value for option, value in options if option == "--volume"]
        assert all(value.endswith(":ro") for value in mounted)
        assert {value.split(":")[1] for value in mounted} >= {str(opened.folder), str(data)}
        rooms = [value for option, value in options if option == "--tmpfs" and value.startswith(str(opened.folder))]
        assert len(rooms) == 2, "of program and scorer"
        assert _value(words, "--user") != _value(others, "--user")
        assert "PATH=/opt/lab/bin:/usr/bin:/bin" in words
        assert not any(word.startswith(("EVOLVE_API", "AWS_")) for word in words)
        assert int(_value(words, "--user").split(":")[0]) > 0
    assert not list(folder.glob("*.container"))


@pytest.mark.parametrize(
    ("name", "uuid", "words"),
    [
        ("docker", "GPU-7", ("--gpus", "device=GPU-7")),
        ("docker", "", ("--gpus", "device=1")),
        ("podman", "GPU-7", ("--device", "nvidia.com/gpu=GPU-7")),
    ],
)
async def test_a_container_has_the_device_of_its_slot_alone(
    runtimes: Runtimes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, uuid: str, words: tuple[str, str]
) -> None:
    monkeypatch.setattr(device_pool, "_PLACES", (str(tmp_path),))
    folder = runtimes(name)
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "evaluator.py").write_text(ECHO)
    device = Device(name="nvidia1", number=1, files=(), uuid=uuid, variables={"CUDA_VISIBLE_DEVICES": uuid or "1"})
    stated, lab = problem(image=REFERENCE, limits=replace(LIMITS, gpu=True)), await image()
    opening = open_evaluator(stated, tmp_path / "problem", 4, require=None, image=lab, devices=DeviceMonitor([device]))
    async with opening as opened:
        said = await opened.evaluate(program(ENVIRONMENT), "evl_1")
    started = [call[2:] for call in calls_of(folder) if call[1] == "run"]
    assert len(started) == 1, "one for each device"
    assert words in list(itertools.pairwise(started[0]))
    assert said.feedback == repr(device.variables["CUDA_VISIBLE_DEVICES"])


def _value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


async def test_a_keeper_is_ended_by_the_interpreter_of_its_container(runtimes: Runtimes, tmp_path: Path) -> None:
    runtimes("podman")
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "evaluator.py").write_text(ECHO)
    async with open_evaluator(
        problem(image=REFERENCE), tmp_path / "problem", 1, require=None, image=await image()
    ) as opened:
        (keeper,) = opened._keeper_pools[0].keepers
        assert not await keeper._processes.ended(keeper.pid, 0.2)
        keeper.kill()
        assert await keeper._processes.ended(keeper.pid, PATIENCE_SECONDS)
        assert (await opened.evaluate(GOOD, "evl_1")).ok


async def test_containers_of_workers_that_are_gone_are_removed_and_no_others(
    runtimes: Runtimes, tmp_path: Path
) -> None:
    folder = runtimes("podman")
    here = place_of_containers()
    for name, labels in {
        "left": {OWNER: str(tmp_path / "gone"), PLACE: here},
        "elsewhere": {OWNER: str(tmp_path / "gone"), PLACE: "another machine"},
    }.items():
        (folder / f"{name}.container").write_text(json.dumps({"labels": labels, "pid": 0}))
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "evaluator.py").write_text(ECHO)
    async with open_evaluator(problem(image=REFERENCE), tmp_path / "problem", 1, require=None, image=await image()):
        assert [call[-1] for call in calls_of(folder) if call[1] == "rm"] == ["left"]
    assert [path.stem for path in folder.glob("*.container")] == ["elsewhere"]

"""Checkpoints: what cannot be read is said to be so, and what would not be read back is never written."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TORCH
from training.errors import CheckpointError

if TYPE_CHECKING or TORCH:
    import torch

    from training.checkpoints import Checkpoint, Checkpoints, read

pytestmark = pytest.mark.training


def checkpoint(step: int, stage: str = "warm-start", value: float = 1.0) -> "Checkpoint":
    weights = {"a": torch.full((40, 50), value), "b": torch.arange(7.0)}
    return Checkpoint(stage=stage, step=step, recipe={"kinds": ("small",)}, weights=weights, optimizer={"state": {}})


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    written = checkpoint(3)
    found = read(Checkpoints(tmp_path).save(written))
    assert (found.stage, found.step, found.recipe) == ("warm-start", 3, {"kinds": ("small",)})
    assert all(torch.equal(found.weights[name], weight) for name, weight in written.weights.items())


def test_the_newest_two_of_each_stage_are_kept(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    for step in (2, 999_998, 1_000_000):
        kept.save(checkpoint(step))
    kept.save(checkpoint(4, "reinforce"))
    assert {path.name for path in tmp_path.iterdir()} == {
        "warm-start-999998.pt", "warm-start-1000000.pt", "reinforce-000004.pt"
    }  # fmt: skip
    found = kept.newest("warm-start", pytest.fail)
    assert found is not None
    assert found.step == 1_000_000
    assert kept.newest("another", pytest.fail) is None


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("warm-start-notes.pt", "warm-start-3.pt.bak", "notes.txt"):
        (tmp_path / name).write_text("mine")
    kept = Checkpoints(tmp_path)
    assert kept.newest("warm-start", pytest.fail) is None
    for step in (1, 2, 3):
        kept.save(checkpoint(step))
    assert {path.name for path in tmp_path.iterdir() if path.read_bytes() == b"mine"} == {
        "warm-start-notes.pt", "warm-start-3.pt.bak", "notes.txt"
    }  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999])
def test_a_checkpoint_cut_anywhere_is_said_to_be_cut(tmp_path: Path, share: float) -> None:
    path = Checkpoints(tmp_path).save(checkpoint(3))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(CheckpointError, match=f"{path} is cut off or damaged: remove it"):
        read(path)


def test_a_changed_byte_of_what_is_kept_is_noticed(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path).save(checkpoint(3))
    whole = path.read_bytes()
    start = whole.index(checkpoint(3).weights["a"].numpy().tobytes())
    for place in (whole.index(b"warm-start"), start, start + 4001, start + 7999):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match="cut off or damaged"):
            read(path)


def saved(value: object) -> Callable[[Path], None]:
    return lambda path: torch.save(value, path)


@pytest.mark.parametrize(
    "spoil",
    [
        saved({}),
        saved([1, 2]),
        saved({"format": 1, "step": 2}),
        saved({"format": 2, "stage": "x", "step": 1, "recipe": {}, "weights": {}, "optimizer": {}}),
    ],
)
def test_a_file_of_another_kind_is_said_to_be_one(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = tmp_path / "warm-start-000001.pt"
    spoil(path)
    with pytest.raises(CheckpointError, match=f"{path} is not a checkpoint of this version: remove it"):
        read(path)


class Evil:
    """What runs when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("ran"),))  # type: ignore[return-value] # what pickle calls


def test_a_checkpoint_that_holds_code_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "warm-start-000001.pt"
    torch.save({"format": 1, "stage": Evil()}, path)
    with pytest.raises(CheckpointError, match="remove it"):
        read(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_never_written(tmp_path: Path, value: float) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1))
    with pytest.raises(CheckpointError, match="checkpoint of step 2 holds weights that are not finite"):
        kept.save(checkpoint(2, value=value))
    assert [path.name for path in tmp_path.iterdir()] == ["warm-start-000001.pt"]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        with pytest.raises(CheckpointError, match=r"warm-start-000002\.pt cannot be written: "):
            kept.save(checkpoint(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["warm-start-000001.pt"]
    assert kept.newest("warm-start", pytest.fail) is not None

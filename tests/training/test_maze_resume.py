"""A training that was stopped anywhere goes on to the same weights and the same journal."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TORCH
from tests.training.tiny_maze import RECIPE, SHAPE
from training.errors import OtherRecipeError
from training.recipe import Recipe

if TYPE_CHECKING:
    from training.llama import Weights

if TYPE_CHECKING or TORCH:
    import torch

    from training.maze import RunFolder, TrainingProgress, reinforce, warm_start

pytestmark = pytest.mark.training

STEPS = [("warm-start", step) for step in range(1, 6)] + [("reinforce", step) for step in range(1, 7)]


class Stop(Exception):
    """Ends a training in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    weights: "Weights"
    journal: bytes


def train(folder: Path, recipe: Recipe = RECIPE, *, stop: tuple[str, int] | None = None) -> Trained:
    """Train from nothing or from what the folder holds; `stop` ends it behind that step."""

    def report(progress: "TrainingProgress") -> None:
        if (progress.stage, progress.step) == stop:
            raise Stop

    place = RunFolder(folder=folder, save_every=2, warn=heard.append)
    weights = reinforce(recipe, warm_start(recipe, place, report), place, report)
    journal = (folder / "journal.jsonl").read_bytes()
    return Trained(weights={name: weight.detach().clone() for name, weight in weights.items()}, journal=journal)


heard: list[str] = []


@pytest.fixture(autouse=True)
def _settled() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    heard.clear()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    torch.set_num_threads(1)
    return train(tmp_path_factory.mktemp("unbroken"))


def assert_equal(found: Trained, unbroken: Trained) -> None:
    assert found.journal == unbroken.journal
    for name, weight in unbroken.weights.items():
        assert torch.equal(found.weights[name], weight), name


def checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoints").iterdir())


@pytest.mark.parametrize(("stage", "step"), STEPS)
def test_a_training_stopped_behind_any_step_goes_on_to_the_same_end(
    tmp_path: Path, unbroken: Trained, stage: str, step: int
) -> None:
    with pytest.raises(Stop):
        train(tmp_path, stop=(stage, step))
    assert_equal(train(tmp_path), unbroken)
    assert heard == []


def test_a_training_stopped_again_and_again_comes_to_the_same_end(tmp_path: Path, unbroken: Trained) -> None:
    for stop in (STEPS[3], STEPS[4], STEPS[7], STEPS[9]):
        with pytest.raises(Stop):
            train(tmp_path, stop=stop)
    assert_equal(train(tmp_path), unbroken)


def test_a_training_that_has_ended_trains_no_more(tmp_path: Path, unbroken: Trained) -> None:
    train(tmp_path)
    before = [path.read_bytes() for path in checkpoints(tmp_path)]
    assert_equal(train(tmp_path, stop=STEPS[0]), unbroken)
    assert [path.read_bytes() for path in checkpoints(tmp_path)] == before


def test_no_checkpoint_stands_between_two_steps_about_the_same_mazes(tmp_path: Path) -> None:
    recipe = replace(RECIPE, reinforcement=replace(RECIPE.reinforcement, steps=5))
    place = RunFolder(folder=tmp_path, save_every=1, warn=heard.append)
    made: list[list[str]] = []
    base = warm_start(recipe, place, lambda _: None)
    reinforce(recipe, base, place, lambda _: made.append([path.name for path in checkpoints(tmp_path)[:-2]]))
    names = [{name for name in found if name.startswith("reinforce")} for found in made]
    assert names == [
        set(),
        {"reinforce-000002.pt"},
        {"reinforce-000002.pt"},
        {"reinforce-000002.pt", "reinforce-000004.pt"},
        {"reinforce-000004.pt", "reinforce-000005.pt"},
    ]


def test_a_training_does_not_go_on_from_another_base(tmp_path: Path) -> None:
    place = RunFolder(folder=tmp_path, save_every=1, warn=heard.append)
    base = warm_start(RECIPE, place, lambda _: None)
    reinforce(RECIPE, base, place, lambda _: None)
    other = {name: weight.detach() + 1e-3 for name, weight in base.items()}
    with pytest.raises(OtherRecipeError, match="another recipe or base"):
        reinforce(RECIPE, other, place, lambda _: None)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def other(path: Path) -> None:
    torch.save({"step": 3}, path)


@pytest.mark.parametrize("damage", [half, nothing, other])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, unbroken: Trained, damage: Callable[[Path], None]
) -> None:
    with pytest.raises(Stop):
        train(tmp_path, stop=("reinforce", 5))
    newest = tmp_path / "checkpoints" / "reinforce-000004.pt"
    damage(newest)
    assert_equal(train(tmp_path), unbroken)
    (warning,) = heard
    assert str(newest) in warning
    assert "remove it" in warning
    assert warning.endswith("; reinforce-000002.pt is taken")


def test_with_all_its_checkpoints_damaged_a_stage_begins_anew(tmp_path: Path, unbroken: Trained) -> None:
    with pytest.raises(Stop):
        train(tmp_path, stop=("reinforce", 5))
    for path in checkpoints(tmp_path):
        if path.name.startswith("reinforce"):
            half(path)
    assert_equal(train(tmp_path), unbroken)
    assert len(heard) == 2
    assert heard[-1].endswith("; the stage begins anew")


def test_checkpoints_made_behind_damaged_ones_are_kept(tmp_path: Path, unbroken: Trained) -> None:
    with pytest.raises(Stop):
        train(tmp_path, stop=("reinforce", 5))
    for path in checkpoints(tmp_path):
        if path.name.startswith("reinforce"):
            half(path)
    with pytest.raises(Stop):
        train(tmp_path, stop=("reinforce", 3))
    assert [path.name for path in checkpoints(tmp_path) if path.name.startswith("rein")] == ["reinforce-000002.pt"]
    heard.clear()
    assert_equal(train(tmp_path, stop=("reinforce", 2)), unbroken)
    assert heard == []


@pytest.mark.parametrize(
    "recipe",
    [
        replace(RECIPE, seed=4),
        replace(RECIPE, shape=SHAPE),
        replace(RECIPE, kinds=("hard",)),
        replace(RECIPE, warm_start=replace(RECIPE.warm_start, steps=6)),
        replace(RECIPE, reinforcement=replace(RECIPE.reinforcement, method="grpo")),
    ],
    ids=["seed", "shape", "kinds", "steps", "method"],
)
def test_the_folder_of_another_recipe_is_refused(tmp_path: Path, recipe: Recipe) -> None:
    with pytest.raises(Stop):
        train(tmp_path, stop=("warm-start", 3))
    with pytest.raises(
        OtherRecipeError, match="checkpoints of another recipe or base: name another folder, or remove it"
    ):
        train(tmp_path, recipe)


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from tests.training import test_maze_resume as resume
from training import checkpoints

torch.set_num_threads(1)
save = torch.save

def die(values, file):
    if (values["stage"], values["step"]) != ("reinforce", 4):
        return save(values, file)
    import io
    whole = io.BytesIO()
    save(values, whole)
    file.write(whole.getvalue()[: len(whole.getvalue()) // 2])
    file.flush()
    with (Path(sys.argv[1]) / "journal.jsonl").open("a") as journal:
        journal.write('{"schema": 1, "stage": "reinf')
    os.kill(os.getpid(), signal.SIGKILL)

checkpoints.torch.save = die
resume.train(Path(sys.argv[1]))
"""


def test_a_kill_in_the_middle_of_a_checkpoint_and_a_line_is_gone_on_from(tmp_path: Path, unbroken: Trained) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    assert [path.name for path in checkpoints(tmp_path)] == [
        "reinforce-000002.pt", "reinforce-000004.part", "warm-start-000004.pt", "warm-start-000005.pt",
    ]  # fmt: skip
    assert_equal(train(tmp_path), unbroken)
    assert heard == []

"""`evolve train presets`, and what the commands about tasks refuse."""

import tomllib

import pytest

from evolve.vpo import METHODS
from tests.unit.cli.conftest import Evolve

TASKS = ("maze", "musique", "eureqa", "toolrl", "livecodebench")


def test_presets_are_toml_of_the_published_settings(evolve: Evolve) -> None:
    said = evolve("train", "presets")
    assert said.code == 0
    found = tomllib.loads(said.out)
    assert tuple(found) == ("common", *TASKS, "smaller")
    assert found["common"]["rate"] == 1e-6
    single = found["common"]["single_answers"]["methods"]
    assert all(name in METHODS and not METHODS[name].chains for name in single)
    assert METHODS[found["common"]["max_at_k"]["method"]].subsets


@pytest.mark.parametrize("task", TASKS)
def test_a_preset_is_that_of_a_task_over_what_all_share(evolve: Evolve, task: str) -> None:
    found = tomllib.loads(evolve("train", "presets", task).out)
    assert (found["m"], found["group"], found["evaluation"]["chains"]) == (3, 8, 10)
    assert found["evaluation"]["top_p"] == (1.0 if task in ("maze", "musique") else 0.95)
    assert found["prompts"] in (64, 128)


def test_presets_for_programs_and_unknown_names(evolve: Evolve) -> None:
    (line,) = evolve("train", "presets", "smaller", "--json").lines
    assert line["settings"]["smaller"]["one_gpu_80gb"]["rank"] == 16
    said = evolve("train", "presets", "chess")
    assert said.code == 2
    assert "choose maze, musique, eureqa, toolrl, livecodebench, smaller" in said.err

"""Chains longer than the usual: what a warm start teaches, what a model folder says of it, and who may train on it."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evolve.errors import ConfigurationError
from service.cli.exit_codes import USAGE
from service.cli.main import main
from tests.conftest import TORCH
from tests.training.tiny_maze import RECIPE, SHAPE, random_weights
from training.errors import ModelError
from training.recipe import WarmStart, chain_lengths, reinforcement_of
from training.vocabulary import IDS, TAUGHT, chat_template

if TORCH:
    from training.batches import MazePool
    from training.export import export, read_model, taught_chains
    from training.maze import recipe_on
    from training.warm_start import lesson

pytestmark = pytest.mark.training
LONG = (1, 2, 3, 4, 8)
SMALL = ["--kinds", "small", "--validated", "2", "--threads", "1"]


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    """A model folder as those that were written before there was a choice."""
    folder = tmp_path / "usual"
    export(random_weights(), SHAPE, folder, m=4, card="card")
    config = json.loads((folder / "config.json").read_text())
    assert config.pop("evolve_chain_lengths") == list(TAUGHT)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_warm_start_teaches_the_lengths_that_it_is_told() -> None:
    pool = MazePool(4)
    settings = WarmStart(mazes=2, chains=2, taught=(8,))
    taught = lesson(pool, "small", settings, np.random.default_rng(0))
    assert all(IDS["m8"] in row for row in taught.prompts.ids.tolist())
    assert all(row.count(IDS["</route_8>"]) == 1 for row in taught.replies.ids.tolist())
    with pytest.raises(ConfigurationError, match="chains of 1 to 8 answers, not"):
        WarmStart(taught=(4, 9))


def test_the_usual_warm_start_is_as_it_was() -> None:
    assert WarmStart().taught == TAUGHT == chain_lengths(4) == chain_lengths(1)
    assert chain_lengths(8) == LONG
    assert (reinforcement_of("vpo").m, reinforcement_of("vpo", 8).m, reinforcement_of("grpo", 8).m) == (4, 8, 1)


def test_a_model_folder_says_which_chains_its_policy_knows(usual: Path, tmp_path: Path) -> None:
    assert taught_chains(usual) == TAUGHT
    export(random_weights(), SHAPE, tmp_path / "long", m=8, card="card", taught=LONG)
    assert taught_chains(tmp_path / "long") == LONG
    template = json.loads((tmp_path / "long" / "tokenizer_config.json").read_text())["chat_template"]
    assert template == chat_template(taught=LONG) != chat_template()
    for wrong in ([], [0], [9], ["4"], 4):
        config = json.loads((usual / "config.json").read_text()) | {"evolve_chain_lengths": wrong}
        (usual / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match="no list of 1 to 8"):
            taught_chains(usual)
    (usual / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        taught_chains(usual)


def test_a_continued_warm_start_gives_new_lengths_half_of_its_updates(usual: Path) -> None:
    long = replace(RECIPE, warm_start=replace(RECIPE.warm_start, taught=LONG))
    drawn = Counter(recipe_on(usual, long, teach=True).warm_start.taught)
    assert drawn == {1: 1, 2: 1, 3: 1, 4: 1, 8: 4}
    assert Counter(recipe_on(usual, RECIPE, teach=True).warm_start.taught) == dict.fromkeys(TAUGHT, 1)
    assert recipe_on(usual, long).warm_start.taught == TAUGHT  # without one, the policy knows what it knew


def test_chains_that_a_base_does_not_know_are_refused_until_it_has_learnt_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, long = tmp_path / "base", tmp_path / "long"
    assert main(["train", "maze", "--method", "base", "--warm-steps", "2", *SMALL, "-o", str(base)]) == 0
    reinforced = ["train", "maze", "--method", "vpo", "--chain-length", "8", "--steps", "2", *SMALL]
    assert main([*reinforced, "--base", str(base / "base"), "-o", str(tmp_path / "a")]) == USAGE
    assert "knows chains of 1, 2, 3, 4 answers, and none of 8" in capsys.readouterr().err

    continued = ["--method", "base", "--base", str(base / "base"), "--warm-steps", "3", "--chain-length", "8"]
    assert main(["train", "maze", *continued, *SMALL, "-o", str(long), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["stage"], line["step"]) for line in lines[:-1]] == [("warm-start", step) for step in (1, 2, 3)]
    assert taught_chains(long / "base") == LONG
    learnt, before = (read_model(folder / "base")[0]["model.embed_tokens.weight"] for folder in (long, base))
    assert not (learnt == before).all()
    assert main([*reinforced, "--base", str(long / "base"), "-o", str(tmp_path / "b")]) == 0
    assert taught_chains(tmp_path / "b" / "vpo") == LONG
    assert "answers = 8\nsamples = 1\n" in (tmp_path / "b" / "vpo" / "evolve.toml").read_text()

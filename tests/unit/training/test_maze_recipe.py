"""What a training is made from, and the card of what came of it."""

import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from evolve.errors import ConfigurationError
from evolve.vpo import METHODS
from training.card import DESCRIPTIONS, SHOWN, card
from training.recipe import Recipe, Reinforcement, reinforcement_of

FIGURES = {name: place / 1000 for place, name in enumerate(SHOWN, start=1)}


@pytest.mark.parametrize("method", METHODS)
def test_every_estimator_has_settings_with_as_many_answers(method: str) -> None:
    settings = reinforcement_of(method)
    assert settings.method == method
    assert settings.answers == Reinforcement().answers
    assert settings.answers // settings.m >= 2
    assert settings.m == (4 if method in ("vpo", "multi_rlvr", "multi_rlvr_best", "vpo_marginal") else 1)
    assert settings.goals is (method == "goal_conditioned")


def test_the_base_is_asked_for_chains() -> None:
    assert reinforcement_of("base").m == 4


def test_a_method_that_is_not_known_is_answered_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError, match="'vop'") as raised:
        reinforcement_of("vop")
    assert all(name in str(raised.value) for name in (*METHODS, "base"))


@pytest.mark.parametrize(("m", "answers"), [(0, 32), (9, 36), (-1, 32), (4, 30), (4, 4), (1, 1), (3, 32)])
def test_answers_that_make_no_group_are_refused(m: int, answers: int) -> None:
    with pytest.raises(ConfigurationError, match="chain"):
        Reinforcement(m=m, answers=answers)


@pytest.mark.parametrize(
    ("method", "k", "said"), [("grpo", 4, "leave k out"), ("max_at_k", 33, "1 to 32"), ("max_at_k", 0, "1 to 32")]
)
def test_k_is_for_methods_that_take_the_best_of_k(method: str, k: int, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        replace(reinforcement_of(method), k=k)
    assert replace(reinforcement_of("vector_max_at_k"), k=4).k == 4


def test_recipes_are_compared_by_what_they_say() -> None:
    assert asdict(Recipe()) == asdict(Recipe())
    assert asdict(Recipe(seed=1)) != asdict(Recipe())


@pytest.mark.parametrize("method", ["base", *METHODS])
def test_a_card_says_how_and_how_well(method: str) -> None:
    text = card(
        name=f"maze-{method}",
        method=method,
        command="evolve train maze -o 'a folder'",
        weights=987_654,
        recipe=Recipe(seed=7, reinforcement=reinforcement_of(method)),
        figures={"small": FIGURES, "hard": FIGURES},
        mazes=25,
        answers=64,
    )
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert "license: apache-2.0" in head.splitlines()
    assert body.lstrip().startswith(f"# maze-{method}\n")
    assert "\nevolve train maze -o 'a folder'\n" in body
    assert "0.99 million weights" in body
    assert DESCRIPTIONS.get(method, f"`{method}`") in body
    assert "* Seed: 7\n* Mazes: small and hard" in body
    assert "25 mazes" in body
    assert ("* Reinforcement: " in body.split("* Warm start: ")[1].split("* Weights: ")[0]) is (method != "base")
    rows = [line.strip("| ").split(" | ") for line in body.splitlines() if line.startswith("| ")]
    assert rows[0] == ["mazes", *SHOWN]
    assert rows[2:] == [[kind, *(f"{value:.3f}" for value in FIGURES.values())] for kind in ("small", "hard")]
    assert "{" not in text


def test_training_is_imported_without_its_frameworks() -> None:
    light = "card demonstrator errors measures plots recipe records training_log vocabulary"
    names = ", ".join(["training", *(f"training.{name}" for name in light.split())])
    code = (
        f"import sys, {names}; print([name for name in ('torch', 'matplotlib', 'safetensors') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

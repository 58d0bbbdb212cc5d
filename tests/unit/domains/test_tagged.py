"""A person's own domain, and the contract suite that it is tested with."""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains import Eureqa, MazeDomain, TaggedDomain, grade, open_domain
from evolve.domains.eureqa import EureqaQuestion
from evolve.domains.maze import mazes
from evolve.errors import ExtensionError, MissingExtensionError
from evolve.testing.domains import DOMAIN_RULES, DomainRule
from tests.own_task import write_letters

QUESTION = {"letter": "a"}


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The domain of the how-to."""
    write_letters(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("letters").Letters()
    del sys.modules["letters"]


def test_the_domain_of_the_how_to_has_30_lines(letters: Any, tmp_path: Path) -> None:
    assert len((tmp_path / "letters.py").read_text().splitlines()) <= 30
    assert letters.name == "letters"


@pytest.mark.parametrize("rule", DOMAIN_RULES)
def test_domains_keep_the_rules(rule: DomainRule, letters: Any) -> None:
    rule(letters, letters.questions("train"))
    rule(MazeDomain(), mazes("small", "train", 3))
    masks = tuple("VWXYZ")
    rule(Eureqa(), [EureqaQuestion(narrative="V is near W.", masks=masks, entities=("a", "b", "c", "d", "e"))])


def test_answers_are_read_from_their_tags(letters: Any) -> None:
    assert letters.parse("Well: <answer>aorta</answer>").answers == ("aorta",)
    assert letters.parse("aorta").answers == (None,)
    several = letters.parse("<answer_2>oak</answer_2> <answer_1>aorta</answer_1> <answer_3>Two words</answer_3>", 3)
    assert several.answers == ("aorta", "oak", None)
    assert letters.parse("<answer_1>aorta</answer_1> <answer_2>oak", 2, cut=True).answers == ("aorta", None)
    assert "<answer_1>" in letters.prompt(QUESTION, 2)
    assert letters.prompt(QUESTION).endswith("Put the answer between <answer> and </answer>.\n")


def test_an_answer_counts_once(letters: Any) -> None:
    graded = grade(letters, QUESTION, "<answer_1>aorta</answer_1><answer_2>aorta</answer_2>", 2)
    assert graded.rewards == pytest.approx(np.array([[1, 0.6, 1 - 5 / 12], [0, 0, 0]]))
    assert letters.scalar(graded.rewards[0]) == pytest.approx(graded.rewards[0].mean())


class Broken(TaggedDomain):
    """It breaks a rule for each of its settings."""

    name = "broken"

    def __init__(self, fault: str) -> None:
        self._fault, self._calls = fault, 0

    def objectives(self, question: Mapping[str, Any]) -> tuple[str, ...]:
        return ("a", "a") if self._fault == "names" else ("a", "b")

    def task(self, question: Mapping[str, Any]) -> str:
        return "Do it."

    def questions(self, split: str) -> Sequence[Mapping[str, Any]]:
        return [{"split": split}]

    def read(self, text: str) -> Any:
        if self._fault == "examples" and text == "shown":
            return None
        return int(text) if self._fault == "raises" else text

    def examples(self, question: Mapping[str, Any]) -> Sequence[str]:
        return ("shown", "other")

    def score(self, question: Mapping[str, Any], answer: Any) -> Sequence[float]:
        self._calls += 1
        return (
            -1.0 if self._fault == "negative" else float(self._calls) if self._fault == "random" else 0.5,
            float("nan") if self._fault == "nan" else 1.0,
        )

    def prompt(self, question: Mapping[str, Any], m: int = 1) -> str:
        return "Do it." if self._fault == "prompt" else super().prompt(question, m)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("names", "stands twice"),
        ("raises", "invalid literal"),
        ("negative", "below its floor: declare floors"),
        ("random", "scored twice"),
        ("nan", "not finite"),
        ("prompt", "is that for a single answer"),
        ("examples", "an example among ['shown'] is not read"),
    ],
)
def test_a_broken_domain_breaks_a_rule(fault: str, said: str) -> None:
    broken: list[str] = []
    for rule in DOMAIN_RULES:
        try:
            rule(Broken(fault), [{}])
        except (AssertionError, ValueError) as error:
            broken.append(str(error))
    assert any(said in sentence for sentence in broken), broken
    for rule in DOMAIN_RULES:
        rule(Broken(""), [{}])


def test_domains_are_named(letters: Any) -> None:
    assert open_domain("maze").name == "maze"
    assert type(open_domain("letters:Letters")) is type(letters)
    with pytest.raises(MissingExtensionError, match="the domain 'lettres' is not installed"):
        open_domain("lettres")
    with pytest.raises(MissingExtensionError, match="has no Words"):
        open_domain("letters:Words")
    with pytest.raises(ExtensionError, match="is not a domain: it lacks objectives, task"):
        open_domain("collections:OrderedDict")


@pytest.mark.parametrize("part", ["objectives", "task", "score", "questions"])
def test_a_missing_part_is_named(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [one for one in ("objectives", "task", "score", "questions") if one != part]
    methods = "".join(f"    def {one}(self, *_): ...\n" for one in parts)
    text = f"from evolve.domains import TaggedDomain\nclass Half(TaggedDomain):\n{methods}"
    (tmp_path / f"half_{part}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExtensionError, match=rf"could not be made: .*\b{part}\b"):
        open_domain(f"half_{part}:Half")

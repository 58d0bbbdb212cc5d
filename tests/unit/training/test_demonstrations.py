"""Demonstrations: the prompts of a run, answered by children that the run found valid, better ones first."""

import json
from typing import Any

import numpy as np
import pytest

from evolve.answers.chain import ChainParser, parse_format
from evolve.answers.edit import apply_answer
from evolve.configuration import InspirationsConfig, PromptConfig
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from training.candidate_sources import CandidateSource, read_candidates
from training.demonstrations import (
    Demonstration,
    Demonstrations,
    DemonstrationSettings,
    demonstrate,
    reward_weights,
)
from training.errors import TrainingError

SEED = Program.of({"program.py": "x = 0\n"})


def problem(*objectives: str) -> Problem:
    return Problem(
        name="numbers",
        language="python",
        seeds=(SEED,),
        evaluator=EvaluatorSpec(file="evaluator.py", entry="x"),
        objectives=tuple(Objective(name=name, low=0, high=100) for name in objectives),
    )


ONE, TWO = problem("value"), problem("value", "other")


def line(name: str, parent: str | None, value: float, **changes: Any) -> str:
    """A line of an export: a program that says its value, by the number in its name."""
    values = {
        "candidate_id": name, "outcome": "ok", "fitness": value, "scores": {"value": value, "other": 100 - value},
        "cases": {}, "feedback": "", "files": {"program.py": f"x = {name}\n"},
        "parents": [{"candidate_id": parent, "role": "parent"}] if parent else [],
    }  # fmt: skip
    return json.dumps(values | changes)


def family(children: int) -> list[str]:
    return [line("0", None, 0.0), *(line(str(number), "0", float(number)) for number in range(1, children + 1))]


def source(lines: list[str], of: Problem = ONE, **changes: Any) -> CandidateSource:
    nothing_else = {"inspirations": InspirationsConfig(top=0, diverse=0)}
    return CandidateSource(
        name="run", problem=of, candidates=read_candidates(lines, of, "run"), **nothing_else | changes
    )


def made(
    lines: list[str], of: Problem = ONE, size: int = 100, changes: dict[str, Any] | None = None, **settings: Any
) -> Demonstrations:
    return demonstrate([source(lines, of, **changes or {})], DemonstrationSettings(**settings), len, size)


def programs(demonstration: Demonstration, form: str = "tags:answer", edits: str = "rewrite") -> list[str]:
    """What a run would read out of the reply."""
    parser = ChainParser(parse_format(form), demonstration.answers)
    answers = [*parser.feed(demonstration.reply), *parser.close()]
    return [apply_answer(SEED, answer.text, edits, "python").program.text for answer in answers]


def test_the_answers_are_the_best_children_first() -> None:
    found = made(family(5), answers=(2,), max_tokens=100_000)
    assert [programs(each) for each in found.by_answers[2]] == [["x = 5\n", "x = 4\n"], ["x = 3\n", "x = 2\n"]]


def test_a_prompt_is_the_run_s_own_and_asks_for_as_many_answers() -> None:
    found = made(
        family(4), answers=(1, 4), max_tokens=100_000,
        changes={"prompt": PromptConfig(system="You write numbers."), "templates": {"request_one": "One number.\n"}},
    )  # fmt: skip
    first, several = found.by_answers[1][0], found.by_answers[4][0]
    assert first.messages[0] == {"role": "system", "content": "You write numbers."}
    assert first.messages[1]["content"].endswith("One number.\n")
    assert "x = 0" in first.messages[1]["content"]
    assert "<answer_4>" in several.messages[1]["content"]
    assert len(programs(several)) == 4


def test_children_of_several_objectives_are_best_under_the_weights_of_the_prompt() -> None:
    found = made(family(9), TWO, answers=(1,), max_tokens=100_000, per_parent=1)
    (only,) = found.by_answers[1]
    weights = only.messages[1]["content"].partition("the one that matters most first: ")[2]
    value_first = weights.startswith("value")
    assert programs(only) == (["x = 9\n"] if value_first else ["x = 1\n"])


def test_failures_duplicates_and_copies_of_the_parent_are_no_answers() -> None:
    lines = [
        *family(1),
        line("2", "0", 90.0, outcome="error", fitness=None, scores={}),
        line("3", "0", 80.0, files=None, outcome=None),
        line("4", "0", 70.0, files={"program.py": "x = 1  # the same\n"}),
        line("5", "0", 60.0, files={"program.py": "x = 0  # the parent\n"}),
        line("6", "gone", 50.0),
    ]
    found = made(lines, answers=(1,), max_tokens=100_000)
    assert [programs(each) for each in found.by_answers[1]] == [["x = 1\n"]]
    assert found.parents == 1


def test_the_same_seed_gives_the_same_demonstrations_and_another_seed_others() -> None:
    lines = [*family(30), *(line(str(number), "7", float(number)) for number in range(40, 60))]
    first, again, other = (made(lines, TWO, max_tokens=100_000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_each_number_of_answers_is_used_equally_often() -> None:
    lines = [*family(4)]
    scheduled = made(lines, answers=(1, 2, 4), max_tokens=100_000).schedule(12)
    assert [each.answers for each in scheduled] == [1, 2, 4] * 4
    assert len({each.reply for each in scheduled if each.answers == 1}) == 4
    assert len({each.reply for each in scheduled if each.answers == 4}) == 1


def test_no_more_are_made_than_are_needed() -> None:
    found = made(family(50), answers=(1, 2), max_tokens=100_000, per_parent=20, size=3)
    assert {m: len(each) for m, each in found.by_answers.items()} == {1: 3, 2: 3}


def test_inspirations_are_left_out_before_a_prompt_is_too_long() -> None:
    lines = [*family(9), *(line(str(number), "9", float(number)) for number in range(40, 50))]
    shown = {"inspirations": InspirationsConfig(top=2, diverse=1)}
    wide = made(lines, answers=(1,), max_tokens=100_000, changes=shown)
    assert any("Other programs" in each.messages[1]["content"] for each in wide.by_answers[1])
    longest = max(sum(len(message["content"]) for message in each.messages) for each in wide.by_answers[1])
    narrow = made(lines, answers=(1,), max_tokens=longest - 40, changes=shown)
    for each in narrow.by_answers[1]:
        assert sum(len(message["content"]) for message in each.messages) + len(each.reply) <= longest - 40


def test_an_inspiration_is_older_than_the_answers() -> None:
    lines = [*family(9), *(line(str(number), "9", float(number)) for number in range(40, 50))]
    found = made(
        lines, answers=(1,), max_tokens=100_000, changes={"inspirations": InspirationsConfig(top=9, diverse=9)}
    )
    for each in found.by_answers[1]:
        (answer,) = programs(each)
        shown = each.messages[1]["content"].partition("# The parent program")[0]
        assert f"```python\n{answer}```" not in shown


@pytest.mark.parametrize(
    ("form", "edits"), [("fences", "rewrite"), ("tags:idea", "diff"), ("single", "rewrite"), ("single", "diff")]
)
def test_replies_have_the_form_of_the_next_run_s_policy(form: str, edits: str) -> None:
    found = made(family(2), answers=(1,), format=form, edits=edits, max_tokens=100_000)
    assert [programs(each, form, edits) for each in found.by_answers[1]] == [["x = 2\n"], ["x = 1\n"]]


@pytest.mark.parametrize(
    ("lines", "settings", "complaint"),
    [
        (
            family(0),
            {},
            "nothing to demonstrate: of 1 valid candidates no 1 are children of the same parent. Run",
        ),
        (family(3), {"answers": (4,)}, "no 4 are children of the same parent"),
        (family(3), {"max_tokens": 300}, r"None of \d+ prompts with their replies fits 300 tokens: raise --max-tokens"),
    ],
)
def test_where_nothing_can_be_demonstrated_the_reason_is_said(
    lines: list[str], settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TrainingError, match=complaint):
        made(lines, **settings)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("{", "run, line 1, is not a candidate .*write the file again with evolve export RUN"),
        (json.dumps({"messages": []}), "run, line 1, is not a candidate .files is missing"),
        (line("1", None, 1.0, files={"../a": "x"}), "is not a candidate .*not a plain relative path"),
        (line("1", None, 1.0, scores={"width": 1.0}), "has no score 'value', an objective of numbers"),
    ],
)
def test_a_line_that_is_no_candidate_of_the_problem_is_named(broken: str, complaint: str) -> None:
    with pytest.raises(TrainingError, match=complaint):
        read_candidates([broken], ONE, "run")


@pytest.mark.parametrize(
    "settings",
    [
        {"answers": ()},
        {"answers": (0,)},
        {"answers": (2, 2)},
        {"edits": "patch"},
        {"max_tokens": 0},
        {"format": "single"},
    ],
)
def test_a_form_that_is_none_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(TrainingError):
        DemonstrationSettings(**settings)


def told(*worths: float) -> tuple[Demonstration, ...]:
    return tuple(Demonstration(messages=(), reply=str(worth), answers=1, worth=worth) for worth in worths)


def test_demonstrations_are_drawn_by_the_exponent_of_their_standard_score() -> None:
    # The mean is 3 and the deviation 2, so the standard scores are -1 and 1, on any scale.
    for scale in (1.0, 1e6):
        weights = reward_weights(told(1.0 * scale, 5.0 * scale), temperature=0.5)
        assert weights == pytest.approx([1 / (1 + np.exp(4)), 1 / (1 + np.exp(-4))])
    assert reward_weights(told(2.0, 2.0, 2.0), temperature=0.5) == pytest.approx([1 / 3] * 3)


def test_better_demonstrations_are_used_more_often_and_each_m_equally_often() -> None:
    many = Demonstrations(by_answers={1: told(0.0, 1.0), 2: told(7.0), 4: ()}, parents=2, too_long=0, unreadable=0)
    drawn = many.weighted_schedule(2000, 1.0, np.random.default_rng(0))
    assert [one.worth for one in drawn[1::2]] == [7.0] * 1000
    better = sum(one.worth == 1.0 for one in drawn[::2])
    assert better == pytest.approx(1000 / (1 + np.exp(-2)), abs=40)  # three deviations are 31
    assert many.weighted_schedule(50, 1.0, np.random.default_rng(0)) == many.weighted_schedule(
        50, 1.0, np.random.default_rng(0)
    )


def test_a_demonstration_is_worth_the_mean_of_its_answers() -> None:
    (made,) = demonstrate([source(family(2))], DemonstrationSettings(answers=(2,)), len, 1).by_answers[2]
    assert made.worth == pytest.approx(1.5)  # of children with the fitness 1 and 2

"""Answers and programs scored as an evaluator returns it: a score for each objective, and feedback.

The evaluator of a domain's problem calls this in the scoring process.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from evolve.domains.blocks import MISSING
from evolve.domains.feedback import remarks
from evolve.domains.livecodebench import CodingTask, Test
from evolve.domains.maze.drawing import walk_svg
from evolve.domains.musique import CitedAnswer
from evolve.domains.overlap import normalised
from evolve.domains.questions import TEXT_DOMAINS, question_from_json

MAX_SHOWN_CHARACTERS = 200
MAX_SHOWN = 3
_LINE = re.compile(r"^[ \t]*(support|answer)[ \t]*:(.*)$", re.IGNORECASE | re.MULTILINE)


def score_answer(name: str, question: Mapping[str, Any], program: Mapping[str, str]) -> dict[str, Any]:
    """The result of an answer: a score for each objective and `feedback`, or `error` if it holds nothing to score.

    Some answers are right or wrong as a whole: the answer in MuSiQue, and the five names in EUREQA. They are also
    returned as `answer`, normalised as for the comparison with the solution, so that they can be counted. Many walks
    through a maze are equally good: they are drawn, as `view`. Calls of tools are scored one by one.

    Args:
        name: a domain whose answers are texts.
        question: as from `question_as_json`.
        program: the answer, by its file.
    """
    domain, asked = TEXT_DOMAINS[name], question_from_json(name, question)
    text = "\n".join(program.values())
    reply = domain.parse(_with_tags(text) if name == "musique" else text, 1)
    (answer,), (reason,) = reply.answers, reply.reasons
    if answer is None:
        return {"error": "it holds nothing in the form of an answer" if reason == MISSING else reason}
    vector = domain.reward(asked, answer)
    said = [remarks(name, asked, answer, vector), f"Note: {reason}." if reason else ""]
    scores = dict(zip(domain.objectives(asked), vector.tolist(), strict=True))
    final = {"answer": _FINALS[name](answer)} if name in _FINALS else {}
    view = {"view": _VIEWS[name](asked, answer)} if name in _VIEWS else {}
    return {**scores, **final, **view, "feedback": "\n".join(line for line in said if line)}


def _cited(answer: CitedAnswer) -> str:
    return normalised(answer.answer, articles=False)


def _chain(names: Sequence[str]) -> list[str]:
    return [normalised(name.replace("_", " "), articles=False) for name in names]


_FINALS: Mapping[str, Callable[[Any], str | list[str]]] = {"musique": _cited, "eureqa": _chain}
_VIEWS: Mapping[str, Callable[[Any, Any], str]] = {"maze": walk_svg}


def _with_tags(text: str) -> str:
    """Lines `support: 0, 4` and `answer: name` as the tags that the domain reads.

    `<answer>` would end an answer of a chain whose answers stand in tags of that name, so programs are written without.
    """
    if "<answer>" in text.lower():
        return text
    return _LINE.sub(lambda line: f"<{line[1].lower()}>{line[2].strip()}</{line[1].lower()}>", text)


def inputs_of(question: Mapping[str, Any]) -> list[dict[str, str]]:
    """The inputs of a program, test by test: `read`, its standard input, or `call` and `arguments`, lines of JSON."""
    asked: CodingTask = question_from_json("livecodebench", question)
    if asked.function:
        return [{"call": asked.function, "arguments": test.input} for test in asked.tests]
    return [{"read": test.input} for test in asked.tests]


def score_outputs(question: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The scores of a program that ran on `inputs_of`: 1 for each test passed, as scores and as `cases`.

    Args:
        question: as from `question_as_json`.
        outputs: for each test a `value` with `printed` and `failed` (empty if the program ended well), or `error`.
    """
    asked: CodingTask = question_from_json("livecodebench", question)
    verdicts = [
        _verdict(test, output, as_json=bool(asked.function)) for test, output in zip(asked.tests, outputs, strict=False)
    ]
    verdicts += ["it was not reached"] * (len(asked.tests) - len(verdicts))
    scores = {f"test_{number}": float(not verdict) for number, verdict in enumerate(verdicts, start=1)}
    wrong = [(number, verdict) for number, verdict in enumerate(verdicts, start=1) if verdict]
    told = [
        f"Test {number}, input {_cut(asked.tests[number - 1].input)}: {verdict}."
        for number, verdict in wrong[:MAX_SHOWN]
    ]
    passed = f"{len(verdicts) - len(wrong)} of {len(verdicts)} tests passed."
    return {**scores, "cases": scores, "feedback": "\n".join([passed, *told])}


def _verdict(test: Test, output: Mapping[str, Any], *, as_json: bool) -> str:
    """Why a test is not passed. Empty if it is."""
    value = output["value"]
    if output["error"] or not isinstance(value, Mapping):
        return f"the program failed: {_cut(str(output['error']))}"
    printed, failed = value.get("printed"), value.get("failed")
    if failed or not isinstance(printed, str):
        return f"the program failed: {_cut(str(failed))}"
    right = same_value(printed, test.output) if as_json else same_output(printed, test.output)
    return "" if right else f"it gave {_cut(printed)}, which is not the expected output"


def same_output(printed: str, wanted: str) -> bool:
    """Whether a program printed the expected output, by line, with numbers by value and without blanks at the ends."""
    ours, theirs = ([line.strip() for line in text.strip().split("\n")] for text in (printed, wanted))
    return len(ours) == len(theirs) and all(_same_line(a, b) for a, b in zip(ours, theirs, strict=True))


def same_value(printed: str, wanted: str) -> bool:
    """Whether two texts hold the same JSON value."""
    try:
        found, goal = json.loads(printed), json.loads(wanted)
    except (ValueError, RecursionError):
        return False
    return bool(found == goal)


def _same_line(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    left, right = ours.split(), theirs.split()
    return len(left) == len(right) and all(a == b or _equal(a, b) for a, b in zip(left, right, strict=True))


def _equal(ours: str, theirs: str) -> bool:
    try:
        return Decimal(ours) == Decimal(theirs)
    except InvalidOperation:
        return False


def _cut(text: str) -> str:
    flat = repr(text)
    return flat if len(flat) <= MAX_SHOWN_CHARACTERS else f"{flat[:MAX_SHOWN_CHARACTERS]}..."

"""Views are drawn in the sandbox: by the scorer, by what draws itself, or on demand by `render`. None costs a score."""

from pathlib import Path

import pytest

from evolve.evaluation import Outcome, ScoringRequest
from evolve.problem import Limits, Objective
from evolve.views.candidate_view import ON_DEMAND, PNG, SVG, CandidateView
from tests.integration.sandbox.bench import program, sandbox
from tests.unit.views.drawings import png

SCORE = (Objective(name="score"),)
PROGRAM = program("def solve():\n    return 3\n")
BESIDE = """
def score(outputs, program):
    return {"score": outputs[0]["value"]}
"""


DRAWN = ScoringRequest(render=True)


async def test_a_view_of_the_scorer_comes_with_the_score(tmp_path: Path) -> None:
    evaluator = 'def score(outputs, program):\n    return {"score": 3, "view": "<svg><circle r=\'3\'/></svg>"}'
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.scores, told.feedback) == (Outcome.OK, {"score": 3.0}, "")
    assert told.view is not None
    assert (told.view.media_type, told.view.reason) == (SVG, "")
    assert "circle" in told.view.content


async def test_render_is_not_called_by_an_evaluation(tmp_path: Path) -> None:
    evaluator = BESIDE + "def render(outputs):\n    while True:\n        pass\n"
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.scores, told.feedback) == (Outcome.OK, {"score": 3.0}, "")
    assert told.view == ON_DEMAND


@pytest.mark.parametrize(
    ("body", "media_type", "holds"),
    [
        ("return {'y': [outputs[0]['value'], 1]}", SVG, "<path"),
        (f"return {png()!r}", PNG, ""),
        (
            "class Drawing:\n        def _repr_svg_(self):\n            return '<svg><rect/></svg>'\n"
            "    return Drawing()",
            SVG,
            "rect",
        ),
        (
            "class Figure:\n        def savefig(self, file, **_):\n"
            f"            file.write({png()!r})\n    return Figure()",
            PNG,
            "",
        ),
    ],
)
async def test_render_draws_on_demand(tmp_path: Path, body: str, media_type: str, holds: str) -> None:
    async with sandbox(tmp_path, BESIDE + f"def render(outputs):\n    {body}\n", objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "view_1", DRAWN)
    assert (told.outcome, told.scores, told.feedback) == (Outcome.OK, {}, "")
    assert told.view is not None
    assert (told.view.media_type, told.view.reason) == (media_type, "")
    assert holds in told.view.content


async def test_a_program_is_drawn_under_the_seed_that_it_was_scored_under(tmp_path: Path) -> None:
    chance = program("import random\n\ndef solve():\n    return random.randrange(10**9)\n")
    evaluator = BESIDE + "def render(outputs):\n    return f\"<p>{outputs[0]['value']}</p>\"\n"
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        scored = await opened.evaluate(chance, "evl_1")
        drawn = await opened.evaluate(chance, "view_1", DRAWN)
    assert drawn.view is not None
    assert drawn.view.content == f"<p>{scored.scores['score']:.0f}</p>"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no ink')", "could not be drawn: ValueError: no ink"),
        ("return 'words'", "begins with 'words'"),
        ("return object()", "is no picture"),
        ("return None", "render() returned None"),
        ("while True: pass", "ran longer than"),
        ("import os; os._exit(3)", "ended with exit status 3"),
        ("bytearray(1 << 40)", "MemoryError"),
        ("return '<svg>' + '<g/>' * 100000 + '</svg>'", "up to 256 KB are kept"),
        ("return '<p>' + 'x' * 300000 + '</p>'", "up to 256 KB are kept"),
    ],
)
async def test_a_render_that_fails_has_a_reason(tmp_path: Path, body: str, reason: str) -> None:
    limits = Limits(wall_seconds=2.0)
    drawing = BESIDE + f"def render(outputs):\n    {body}\n"
    async with sandbox(tmp_path, drawing, objectives=SCORE, limits=limits) as opened:
        told = await opened.evaluate(PROGRAM, "view_1", DRAWN)
        after = await opened.evaluate(PROGRAM, "evl_2")
    assert told.outcome is Outcome.OK
    assert isinstance(told.view, CandidateView)
    assert reason in told.view.reason
    assert (after.outcome, after.scores) == (Outcome.OK, {"score": 3.0})


async def test_an_evaluator_without_render_draws_nothing_on_demand(tmp_path: Path) -> None:
    async with sandbox(tmp_path, BESIDE, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "view_1", DRAWN)
    assert told.view is not None
    assert "defines no function render(outputs)" in told.view.reason


async def test_nothing_is_rendered_of_what_has_no_score(tmp_path: Path) -> None:
    evaluator = (
        "def score(outputs, program):\n    return {'error': 'no'}\ndef render(outputs):\n    return '<p>drawn</p>'"
    )
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.view) == (Outcome.INVALID, None)

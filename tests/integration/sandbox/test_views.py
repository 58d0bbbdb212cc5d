"""Views are drawn in the sandbox, by the scorer, by `render` or by what draws itself. A failure costs no score."""

from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Objective
from evolve.views.candidate_view import PNG, SVG, CandidateView
from tests.integration.sandbox.bench import program, sandbox
from tests.unit.views.drawings import png

SCORE = (Objective(name="score"),)
PROGRAM = program("def solve():\n    return 3\n")
BESIDE = """
def score(outputs, program):
    return {"score": outputs[0]["value"]}
"""


@pytest.mark.parametrize(
    ("evaluator", "media_type", "holds"),
    [
        (
            'def score(outputs, program):\n    return {"score": 3, "view": "<svg><circle r=\'3\'/></svg>"}',
            SVG,
            "circle",
        ),
        (BESIDE + "def render(outputs):\n    return {'y': [outputs[0]['value'], 1]}", SVG, "<path"),
        (BESIDE + f"def render(outputs):\n    return {png()!r}", PNG, ""),
        (
            BESIDE + "class Drawing:\n    def _repr_svg_(self):\n        return '<svg><rect/></svg>'\n"
            "def render(outputs):\n    return Drawing()",
            SVG,
            "rect",
        ),
        (
            BESIDE + f"class Figure:\n    def savefig(self, file, **_):\n        file.write({png()!r})\n"
            "def render(outputs):\n    return Figure()",
            PNG,
            "",
        ),
    ],
)
async def test_a_view_comes_with_the_score(tmp_path: Path, evaluator: str, media_type: str, holds: str) -> None:
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.scores, told.feedback) == (Outcome.OK, {"score": 3.0}, "")
    assert told.view is not None
    assert (told.view.media_type, told.view.reason) == (media_type, "")
    assert holds in told.view.content


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no ink')", "could not be drawn: ValueError: no ink"),
        ("return 'words'", "begins with 'words'"),
        ("return object()", "is no picture"),
        ("return '<svg>' + '<g/>' * 100000 + '</svg>'", "up to 256 KB are kept"),
        ("return '<p>' + 'x' * 300000 + '</p>'", "up to 256 KB are kept"),
    ],
)
async def test_a_render_that_fails_costs_no_score(tmp_path: Path, body: str, reason: str) -> None:
    async with sandbox(tmp_path, BESIDE + f"def render(outputs):\n    {body}\n", objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.scores, told.feedback) == (Outcome.OK, {"score": 3.0}, "")
    assert isinstance(told.view, CandidateView)
    assert reason in told.view.reason


async def test_nothing_is_rendered_of_what_has_no_score(tmp_path: Path) -> None:
    evaluator = (
        "def score(outputs, program):\n    return {'error': 'no'}\ndef render(outputs):\n    return '<p>drawn</p>'"
    )
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        told = await opened.evaluate(PROGRAM, "evl_1")
    assert (told.outcome, told.view) == (Outcome.INVALID, None)

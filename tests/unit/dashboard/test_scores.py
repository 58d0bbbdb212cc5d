import pytest

from service.dashboard.scores import Score, chart_word
from tests.unit.dashboard.told_runs import told_run

UP, DOWN = [{"name": "gain", "direction": "maximize"}], [{"name": "loss", "direction": "minimize"}]


def test_more_is_better_only_where_more_is_wanted() -> None:
    up = Score(name="a", value=2.0, other=1.0, direction="maximize")
    down = Score(name="a", value=2.0, other=1.0, direction="minimize")
    assert (up.delta, up.verdict, down.verdict) == (1.0, "better", "worse")


def test_less_is_better_where_less_is_wanted() -> None:
    assert Score(name="a", value=1.0, other=2.0, direction="minimize").verdict == "better"


def test_the_same_is_neither_better_nor_worse() -> None:
    assert Score(name="a", value=1.0, other=1.0, direction="minimize").verdict == "equal"


def test_nothing_is_said_of_what_was_not_scored_or_is_not_wanted() -> None:
    assert Score(name="a", value=None, other=1.0, direction="maximize").verdict == ""
    assert Score(name="a", value=2.0, other=1.0).verdict == ""


@pytest.mark.parametrize(
    ("objectives", "word"),
    [([UP], "score"), ([DOWN, DOWN], "score"), ([UP, DOWN], "fitness"), ([UP + DOWN], "fitness"), ([], "fitness")],
)
def test_runs_of_one_direction_have_scores_in_a_chart(objectives: list[list[dict[str, str]]], word: str) -> None:
    assert chart_word([told_run(objectives=one) for one in objectives]) == word

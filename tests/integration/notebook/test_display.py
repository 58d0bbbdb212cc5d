"""A result in a notebook: as a picture, a table, charts, and a bar while one waits."""

import re
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import evolve
from evolve.configuration import BudgetConfig
from evolve.problem import Direction, Objective
from service.errors import UsageError
from service.notebook.progress_line import ProgressBar
from service.notebook.result import RunResult

mpl.use("Agg")
SEED = "x = 7\n"


def drawn(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(source, space)
    x = float(space["x"])
    return {"gap": abs(x - 42), "size": len(source), "view": f'<svg viewBox="0 0 9 9"><text>{x}</text></svg>'}


@pytest.fixture(scope="module")
def result() -> RunResult:
    objectives = (
        Objective(name="gap", direction=Direction.MINIMIZE, low=0, high=100),
        Objective(name="size", direction=Direction.MINIMIZE, low=0, high=50),
    )
    return evolve.run(SEED, evaluate=drawn, objectives=objectives, evaluations=30, seed=1)


def test_a_result_shows_its_best_with_picture_curve_and_source(result: RunResult) -> None:
    page = result._repr_html_()
    assert result.view is not None
    assert f'<img src="{result.view.picture}"' in page
    assert page.count("<img") == 2
    assert f"{result.scores['gap']:.10g}" in page
    assert "Source of the best" in page
    assert not re.search(r"<script|https?:", page.replace("http://www.w3.org", ""))


def test_every_drawn_candidate_has_its_view(result: RunResult) -> None:
    scored = [one["candidate_id"] for one in result.candidates if one["outcome"] == "ok"]
    assert list(result.views) == scored


def test_hostile_programs_and_pages_are_shown_and_not_run() -> None:
    def page(source: str) -> dict[str, Any]:
        return {"score": 1.0, "view": '<p>"quoted" & </iframe><script>alert(1)</script></p>'}

    result = evolve.run("x = 7  # <script>alert(2)</script>\n", evaluate=page, evaluations=2)
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert '<iframe sandbox srcdoc="&lt;meta http-equiv=' in shown
    assert shown.count("</iframe>") == 1


def test_a_table_has_a_row_for_each_answer(result: RunResult) -> None:
    table = result.to_dataframe()
    assert list(table.index) == [one["candidate_id"] for one in result.candidates]
    best = table.loc[result.best.candidate_id] if result.best else None
    assert best is not None
    assert (best["scores.gap"], best["source"]) == (result.scores["gap"], result.source)


def test_charts_hold_what_the_result_holds(result: RunResult) -> None:
    axes = result.plot_history()
    best = next(line for line in axes.lines if line.get_label() == "best so far")
    assert list(best.get_ydata()) == [value for value in result.history if value is not None]
    axes = result.plot_scores(x="size")
    front = next(line for line in axes.lines if line.get_label() == "front")
    assert len(front.get_xdata()) == len(result.front)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size", "gap")
    assert result.plot_history(axes) is axes
    with pytest.raises(UsageError, match="no score 'length': choose from gap, size"):
        result.plot_scores("length")
    pyplot.close("all")


def test_a_minimised_score_is_drawn_in_its_own_units() -> None:
    result = evolve.run(
        SEED,
        evaluate=lambda text: drawn(text)["gap"],
        objectives=[Objective(name="gap", direction=Direction.MINIMIZE)],
        evaluations=9,
    )
    axes = result.plot_history()
    best = next(line for line in axes.lines if line.get_label() == "best so far")
    assert best.get_ydata()[-1] == result.scores["gap"] > 0
    with pytest.raises(UsageError, match="1 score: two are needed"):
        result.plot_scores()
    pyplot.close("all")


def test_a_bar_counts_to_the_budget_and_is_full_at_the_end() -> None:
    shown: list[str] = []
    evolve.run(
        SEED, evaluate=drawn_gap, evaluations=12, on_event=ProgressBar(BudgetConfig(evaluations=12), shown.append)
    )
    assert shown[-1].startswith('<progress value="1" max="1"')
    assert "12/12 evaluated" in shown[-1]
    assert all('max="12"' in one for one in shown[:-1])


def drawn_gap(source: str) -> float:
    return -float(drawn(source)["gap"])

"""Views on demand without a service: by `evolve run`, `evolve best --view`, `evolve report` and `evolve.run`."""

from pathlib import Path

import pytest
from sqlalchemy import ColumnElement, func, select, update

import evolve
from service.db.engine import open_database
from service.db.models import CandidateViewRow
from tests.e2e.evolving import EVALUATOR, Evolve, EvolveHere, make_problem

RENDER = "\ndef render(outputs):\n    return f\"<svg><text>{outputs[0]['value']}</text></svg>\"\n"
FAILING = "\ndef render(outputs):\n    raise ValueError('no ink')\n"


def drawing_problem(folder: Path, render: str = RENDER) -> Path:
    made = make_problem(folder, evaluations=8)
    (made / "evaluator.py").write_text(EVALUATOR + render)
    return made


DRAWN = CandidateViewRow.media_type != ""
UNDRAWN = {"media_type": "", "content": ""}


def change(home: Evolve, values: dict[str, str], *where: ColumnElement[bool]) -> None:
    """Change stored views."""
    opened = open_database(home.url)
    with opened.write() as connection:
        connection.execute(update(CandidateViewRow).where(*where).values(values))
    opened.close()


@pytest.fixture
def home(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


def test_a_run_draws_its_best_alone(home: Evolve, tmp_path: Path) -> None:
    run = home.lines("run", str(drawing_problem(tmp_path / "hill")), "--json")[-1]
    (best,) = home.lines("best", run["run_id"], "--json")
    columns = (CandidateViewRow.candidate_id, CandidateViewRow.media_type, CandidateViewRow.reason)
    undrawn = select(func.count()).where(~DRAWN, CandidateViewRow.reason == "")
    opened = open_database(home.url)
    with opened.read() as connection:
        assert connection.execute(select(*columns).where(DRAWN)).all() == [(best["candidate_id"], "image/svg+xml", "")]
        assert connection.execute(undrawn).scalar_one() > 0
    opened.close()


def test_best_draws_what_nobody_has_drawn_once(home: Evolve, tmp_path: Path) -> None:
    problem = drawing_problem(tmp_path / "hill")
    run_id = home.lines("run", str(problem), "--json")[-1]["run_id"]
    change(home, UNDRAWN)
    written = home.json("best", run_id, "--view", str(tmp_path / "picture"), "--json")["written"]
    assert written == [str(tmp_path / "picture.svg")]
    first = (tmp_path / "picture.svg").read_text()
    assert "<text>" in first
    # What is stored is shown, and not drawn again.
    change(home, {"content": "<svg><text>kept</text></svg>"}, DRAWN)
    assert "kept" in home.call("best", run_id, "--view", "-")


def test_a_view_that_cannot_be_drawn_says_why(home: Evolve, tmp_path: Path) -> None:
    run_id = home.lines("run", str(drawing_problem(tmp_path / "hill", FAILING)), "--json")[-1]["run_id"]
    said = home.said("best", run_id, "--view", str(tmp_path / "picture"))
    assert said.code != 0
    assert "could not be drawn: ValueError: no ink" in said.err


def test_a_report_has_the_picture_of_the_best(home: Evolve, tmp_path: Path) -> None:
    run_id = home.lines("run", str(drawing_problem(tmp_path / "hill")), "--json")[-1]["run_id"]
    change(home, UNDRAWN)
    home.json("report", run_id, "-o", str(tmp_path / "r.html"), "--json")
    assert "data:image/svg+xml" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_notebook_shows_the_best(tmp_path: Path) -> None:
    result = evolve.run(drawing_problem(tmp_path / "hill"), evaluations=6, storage=tmp_path / "runs.db", seed=1)
    assert result.best is not None
    assert result.view is not None
    assert list(result.views) == [result.best.candidate_id]
    assert f"<text>{result.scores['value']:g}" in result.view.content
    assert f'<img src="{result.view.picture}"' in result._repr_html_()
    opened = evolve.open_run(storage=tmp_path / "runs.db")
    assert opened.view == result.view
    more = result.extend(evaluations=12)
    assert more.view is not None
    assert more.best is not None
    assert more.best.candidate_id in more.views

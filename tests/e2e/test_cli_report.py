"""`evolve report`: a run as one file, from a database and from a service."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import SEED, Evolve, EvolveHere, make_problem


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evolve, str]:
    """A home, and the id of a run there that has ended."""
    home = tmp_path_factory.mktemp("home")
    evolve = EvolveHere(home)
    problem = make_problem(home / "hill", evaluations=30)
    return evolve, str(evolve.lines("run", str(problem), "--json")[-1]["run_id"])


class Page(HTMLParser):
    """What a page loads from elsewhere, and the answers of the API that it holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elsewhere: list[str] = []
        self.answers: dict[str, Any] = {}
        self._at = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._at = named.get("data-answer") or ""
        for name in ("src", "href", "action"):
            address = named.get(name) or ""
            if address and not address.startswith(("#", "data:")):
                self.elsewhere.append(address)

    def handle_data(self, data: str) -> None:
        if self._at:
            self.answers[self._at] = json.loads(data)
            self._at = ""


def valid(fitness: list[float | None]) -> list[float]:
    """What was valid, in order of worth."""
    return sorted(value for value in fitness if value is not None)


def test_the_report_holds_the_run_and_loads_nothing(ended: tuple[Evolve, str], tmp_path: Path) -> None:
    evolve, run_id = ended
    said = evolve.json("report", run_id, "-o", str(tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert said == {"schema": 1, "run_id": run_id, "path": str(tmp_path / "r.html"), "bytes": len(text.encode())}
    page = Page(text)
    assert page.elsewhere == []
    scored = [one["fitness"] for one in evolve.lines("export", run_id) if one["status"] == "evaluated"]
    fitness = page.answers[f"/v1/runs/{run_id}/columns"]["fitness"]
    assert len(fitness) == len(scored)
    assert valid(fitness) == pytest.approx(valid(scored), rel=1e-6)
    best = evolve.json("best", run_id)
    assert best["candidate_id"] in text
    assert run_id in text


def test_the_report_says_why_answers_failed(tmp_path: Path) -> None:
    evolve = EvolveHere(tmp_path)
    problem = make_problem(tmp_path / "hill", evaluations=30)
    scorer = problem / "evaluator.py"
    refusal = '    if outputs[0]["value"] > 3.5:\n        return {"error": "<b>too high</b>"}\n'
    scorer.write_text(scorer.read_text().replace('    return {"value"', f'{refusal}    return {{"value"'))
    (problem / "program.py").write_text(SEED.replace("0.25", "1.25"))
    run_id = str(evolve.lines("run", str(problem), "--json")[-1]["run_id"])
    evolve.call("report", run_id, "-o", str(tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    failures = evolve.json("show", run_id)["failures"]
    assert "invalid" in {group["outcome"] for group in failures}
    rows = re.findall(r'<tr><th scope="row">([a-z_]+)</th>\s*<td class="num">([\d,]+)</td>', text)
    assert rows == [(group["outcome"], f"{group['count']:,}") for group in failures[:8]]
    assert "<b>too high</b>" not in text
    assert "&lt;b&gt;too high&lt;/b&gt;" in text


def test_a_file_that_is_there_is_replaced_only_when_asked(ended: tuple[Evolve, str], tmp_path: Path) -> None:
    evolve, run_id = ended
    path = tmp_path / "mine.html"
    path.write_text("mine")
    evolve.call("report", run_id, "-o", str(path), code=5)
    assert path.read_text() == "mine"
    evolve.call("report", run_id, "-o", str(path), "--force")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_it_goes_to_stdout_too(ended: tuple[Evolve, str]) -> None:
    evolve, run_id = ended
    text = evolve.call("report", run_id, "-o", "-")
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "code"), [(("run_ffffffffffff",), 3), (("run_",), 2), (("last", "-o", "/nowhere/at/all/r.html"), 3)]
)
def test_what_is_not_there_is_said(ended: tuple[Evolve, str], words: tuple[str, ...], code: int) -> None:
    ended[0].call("report", *words, code=code)


def test_nothing_is_left_beside_the_database(ended: tuple[Evolve, str], tmp_path: Path) -> None:
    evolve, run_id = ended
    folder = Path(re.sub("^sqlite:///", "", evolve.url)).parent
    before = {path.name for path in folder.iterdir()}
    evolve.call("report", run_id, "-o", str(tmp_path / "r.html"))
    assert {path.name for path in folder.iterdir()} - before <= {"runs.db-wal", "runs.db-shm"}

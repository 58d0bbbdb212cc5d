"""A whole study with its pictures, from the command line."""

import json
from pathlib import Path

import pytest

from service.cli.main import main
from tests.unit.training.drunkard import write_models

pytestmark = pytest.mark.training


def test_a_study_writes_the_same_report_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models, out = write_models(tmp_path / "models"), tmp_path / "out"
    words = ["study", str(models), "-o", str(out), "--quick", "--mazes", "1", "--workers", "2", "--json"]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["report"] == str(out / "study.md")
    assert all(target["met"] in (True, False, None) for target in summary["targets"])
    first = {path.name: path.read_bytes() for path in out.rglob("*") if path.suffix in {".md", ".svg"}}
    assert set(first) == {"study.md", "study-small.svg", "study-hard.svg", "study-search.svg"}
    assert main([*words, "--stage", "report"]) == 0
    assert first == {path.name: path.read_bytes() for path in out.rglob("*") if path.suffix in {".md", ".svg"}}


def test_a_report_goes_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models, docs = write_models(tmp_path / "models"), tmp_path / "docs"
    docs.mkdir()
    words = ["study", str(models), "-o", str(tmp_path / "out"), "--report", str(docs / "study.md")]
    assert main([*words, "--quick", "--mazes", "1", "--workers", "1", "--plain-searches"]) == 0
    text = (docs / "study.md").read_text()
    assert str(tmp_path) not in text
    assert (docs / "images" / "study-search.svg").is_file()
    assert "The report is in" in capsys.readouterr().out


def test_nothing_measured_makes_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = write_models(tmp_path / "models")
    assert main(["study", str(models), "-o", str(tmp_path / "out"), "--quick", "--stage", "report"]) == 1
    assert "nothing was measured yet" in capsys.readouterr().err

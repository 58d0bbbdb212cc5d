"""The notebooks of the examples run, cell by cell."""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import evolve

NOTEBOOKS = sorted((Path(__file__).parents[3] / "examples" / "notebooks").glob("*.ipynb"))
# The notebook on VPO has no run: tests/unit/vpo/test_notebook.py checks what it shows.
RUNS = [path for path in NOTEBOOKS if path.stem != "vpo_toy"]
mpl.use("Agg")


def cells(path: Path) -> list[str]:
    """The text of each cell of code."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs are not committed"
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    space: dict[str, Any] = {}
    for cell in cells(path):
        exec(compile(cell, path.name, "exec"), space)
    assert space["result"].account.evaluations >= 30
    pyplot.close("all")


def test_there_are_notebooks_and_each_is_listed() -> None:
    listed = re.findall(
        r"\(notebooks/(\S+)\.ipynb\)", (NOTEBOOKS[0].parents[1] / "README.md").read_text(encoding="utf-8")
    )
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]


def test_what_a_policy_raised_is_told_with_the_result() -> None:
    calls: list[str] = []

    def policy(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) == 2:
            raise RuntimeError("no more ink")
        return f"x = {len(calls)}\n"

    result = evolve.run("x = 0\n", evaluate=lambda text: float(text.split()[-1]), policy=policy, evaluations=6)
    (reason,) = result.failed_proposals.values()
    assert "no more ink" in reason
    assert "1 proposal failed" in result._repr_html_()


@pytest.mark.parametrize("heading", ["Keep a run", "Ask and tell"])
def test_the_examples_of_a_section_run(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (NOTEBOOKS[0].parents[2] / "docs" / "how-to" / "notebook.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
        exec(block, space)
    assert capsys.readouterr().out.strip()

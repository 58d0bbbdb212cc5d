"""Rounds of a flywheel: found from the policies, drawn with their intervals, and told by the gate."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service, until
from tests.browser.test_layout import CUT

ROOT = Path(__file__).parents[2]
ROUNDS, PROBLEMS = 3, 4
EASY = """
schema = 1
name = "rounds"
known_best = {known}
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[[objectives]]
name = "value"
low = -10
high = 30
"""
PROGRAM = "def give():\n    a = 1.5\n    b = 2.5\n    return a * b\n"
SCORE = "def score(outputs, program):\n    return {'value': max(-10, min(30, float(outputs[0]['value'] or 0)))}\n"


@pytest.fixture(scope="module")
def flywheel(service: Service, installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A flywheel of three rounds. Two of its versions are trained, by a trainer that counts."""
    client, name = service.client, "rounds"
    files = {"problem.toml": EASY.format(known=5.0), "program.py": PROGRAM, "evaluator.py": SCORE}
    client.post("/v1/problems", json={"files": files}).raise_for_status()
    client.post("/v1/policies", json={"name": "runner"})
    client.put("/v1/training-permissions", json={"allowed": True}).raise_for_status()
    home = tmp_path_factory.mktemp("trainer")
    words = ["tests.fakes.counting_trainer", installation.evolve.url, str(home), "0.01", "maze"]
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env=environment) as trainer:
        try:
            for number in range(1, ROUNDS + 1):
                runs = _searched(service, name, number)
                if number < ROUNDS:
                    body = {"policy": "runner", "runs": runs, "steps": 10, "test_problems": 8, "promote": True}
                    job = client.post("/v1/training-jobs", json=body).raise_for_status().json()["id"]
                    _trained(service, job)
        finally:
            trainer.terminate()
    return name


def _trained(service: Service, job: str) -> None:
    until(lambda: service.get(f"/v1/training-jobs/{job}")["state"] == "succeeded")


def _searched(service: Service, name: str, number: int) -> list[str]:
    """The runs of a round, which have ended. A later round has more evaluations."""
    labels = {"flywheel": name, "round": str(number)}
    config = {"budget": {"evaluations": 12}}
    runs: list[dict[str, Any]] = [
        {"problem": "rounds", "policy": "syntax", "labels": labels, "config": {**config, "seed": 10 * number + seed}}
        for seed in range(PROBLEMS)
    ]
    answer = service.client.post("/v1/batches", json={"name": f"round {number}", "runs": runs}).raise_for_status()
    batch = answer.json()["id"]
    until(lambda: service.get(f"/v1/batches/{batch}")["state"] == "succeeded")
    return [run["id"] for run in service.get(f"/v1/runs?batch_id={batch}&limit=50")["items"]]


def test_rounds_are_found_drawn_and_told(page: Page, flywheel: str) -> None:
    page.goto("/policies")
    page.get_by_role("link", name="Flywheels").click()
    page.get_by_role("region", name="Flywheels").get_by_role("link", name=flywheel).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(flywheel)
    chart = page.get_by_role("img", name="Share of the problems solved by round")
    expect(chart).to_be_visible()
    expect(chart.locator("circle")).to_have_count(2 * ROUNDS)
    rows = page.get_by_role("region", name="Rounds").locator("tbody tr")
    expect(rows).to_have_count(ROUNDS)
    # Nothing was promoted when the first version came. The second was compared with it.
    expect(rows.nth(0)).to_contain_text("promoted")
    expect(rows.nth(1)).to_contain_text("@2")
    expect(rows.nth(1)).to_contain_text("[")
    expect(rows.nth(2)).to_contain_text("not yet")
    # The marks stand as high as the shares in the table.
    shares = [float(text.split()[0]) for text in rows.locator("td:nth-of-type(4)").all_inner_texts()]
    heights = [float(one.get_attribute("cy") or 0) for one in chart.locator(".line-2 circle").all()]
    assert [round((212 - height) / 200, 3) for height in heights] == pytest.approx(shares, abs=1e-3)
    page.get_by_role("region", name="Rounds").get_by_role("link", name="@1").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Training of runner")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_a_flywheel_shuts_nobody_out(open_page: OpenPage, flywheel: str, theme: str, width: int) -> None:
    page = open_page(f"/flywheels/{flywheel}", theme=theme, width=width)
    expect(page.locator("figure.rounds svg").first).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CUT) == []

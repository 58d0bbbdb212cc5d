"""Training jobs: found from the policies, watched while they are trained, and cancelled."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.installation import Installation, Service, until

ROOT = Path(__file__).parents[2]
STEPS = 100_000


@pytest.fixture
def job(service: Service, installation: Installation, tmp_path: Path) -> Iterator[str]:
    """The id of a job that a trainer counts for."""
    service.client.post("/v1/policies", json={"name": "walker"})
    answer = service.client.post("/v1/training-jobs", json={"policy": "walker", "steps": STEPS}).raise_for_status()
    words = ["tests.fakes.counting_trainer", installation.evolve.url, str(tmp_path / "training"), "0.02", "maze"]
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env=environment) as trainer:
        yield str(answer.json()["id"])
        trainer.terminate() if trainer.poll() is None else None


def test_a_job_is_found_watched_and_cancelled(page: Page, service: Service, job: str) -> None:
    page.goto("/policies")
    page.get_by_role("link", name="Training jobs").click()
    row = page.get_by_role("region", name="Training jobs").locator("tbody tr").first
    expect(row).to_contain_text("walker")
    row.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("running")
    heading = page.get_by_role("heading", level=2).filter(has_text="count: step")
    expect(heading).to_be_visible()
    curve = page.get_by_role("img", name="loss over the steps")
    expect(curve).to_be_visible()
    drawn, told = curve.locator("path").get_attribute("d"), heading.inner_text()
    expect(heading).not_to_have_text(told)  # without a reload
    expect(curve.locator("path")).not_to_have_attribute("d", drawn or "")
    assert_accessible(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    until(lambda: service.get(f"/v1/training-jobs/{job}")["state"] == "cancelled")
    assert_accessible(page)

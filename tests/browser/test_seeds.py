"""Seeds: why one failed, at once and with its traceback, and their page."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.installation import EVALUATOR, PROBLEM, Service

BROKEN = "def give():\n    return 1 / 0  # the fault\n"


@pytest.fixture(scope="module")
def failed_run(service: Service) -> str:
    files = {
        "problem.toml": PROBLEM.format(name="broken_seed"),
        "program.py": BROKEN,
        "evaluator.py": EVALUATOR.format(seconds=0),
    }
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("broken_seed", evaluations=20)
    assert service.end(run_id)["state"] == "failed"
    return run_id


def test_the_overview_shows_at_once_why_the_seed_failed(page: Page, failed_run: str) -> None:
    page.goto(f"/runs/{failed_run}")
    seed = page.get_by_role("region", name="Seed 0.0 failed")
    expect(seed).to_be_in_viewport()
    expect(seed).to_contain_text("ZeroDivisionError")
    expect(seed.get_by_role("link", name="0.0")).to_be_visible()


def test_the_seeds_have_a_page_where_proposal_0_would_be(page: Page, failed_run: str, finished_run: str) -> None:
    page.goto(f"/runs/{failed_run}/proposals/0")
    expect(page.get_by_role("heading", name="Seeds", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Seed 0.0 failed")).to_contain_text("ZeroDivisionError")
    page.goto(f"/runs/{finished_run}/proposals/1")
    page.get_by_role("link", name="Seeds").click()
    expect(page.get_by_role("region", name="Seeds").get_by_role("link", name="0.0")).to_be_visible()
    expect(page.get_by_role("region", name="Seed 0.0 failed")).to_have_count(0)

"""What policies and operators brought and cost."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service

MAZE = Path(__file__).parents[2] / "examples" / "maze"


@pytest.fixture(scope="module")
def written_run(installation: Installation) -> str:
    """The id of a run whose candidates a small model wrote."""
    words = ("run", str(MAZE), "--policy", "bundled:maze-vpo", "--evaluations", "24", "--json")
    return str(installation.evolve.lines(*words)[-1]["run_id"])


def test_tables_show_what_the_api_says(page: Page, service: Service, written_run: str) -> None:
    metrics = service.get(f"/v1/runs/{written_run}/metrics")
    (cost,) = metrics["policy_costs"]
    page.goto(f"/runs/{written_run}/policy")
    row = page.get_by_role("region", name="By policy").nth(1).locator("tbody tr")
    expect(row).to_have_count(1)
    cells = [cell.replace("\u202f", "") for cell in row.locator("th, td").all_inner_texts()]
    told = [cost[name] for name in ("proposals", "failed", "answers")]
    assert cells[:4] == ["bundled:maze-vpo", *map(str, told)]
    assert (cells[9], cells[11]) == (str(cost["tokens_input"]), str(cost["tokens_output"]))
    positions = page.get_by_role("region", name="By position in the chain").locator("tbody tr")
    expect(positions).to_have_count(len(metrics["positions"]))


def test_the_curve_says_what_was_read_and_written(page: Page, service: Service, written_run: str) -> None:
    (cost,) = service.get(f"/v1/runs/{written_run}/metrics")["policy_costs"]
    page.goto(f"/runs/{written_run}/policy")
    curve = page.locator("token-curve")
    expect(curve).to_have_attribute("data-shown", re.compile(r"\d+"))
    expect(curve.locator(".legend")).to_contain_text(f"{cost['tokens_output']:,}".replace(",", "\u202f"))


def test_figures_keep_up_with_the_run(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/policy")
    cell = page.get_by_role("region", name="By policy").first.locator("tbody td").first
    shown = int(cell.inner_text())
    page.wait_for_function(
        "seen => Number(document.querySelector('.policy tbody td').textContent.replace(/\\D/g, '')) > seen", arg=shown
    )


def test_without_script_the_tables_are_there(open_page: OpenPage, written_run: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", javascript=False)
    page.get_by_text("Tokens over evaluations as a table").click()
    expect(page.get_by_role("region", name="Tokens over evaluations").locator("tbody tr").last).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, written_run: str, theme: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", theme=theme)
    expect(page.locator("token-curve canvas").first).to_be_visible()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, written_run: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", width=360)
    expect(page.locator("token-curve canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

"""A candidate beside the chart that it was chosen in."""

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service
from tests.browser.test_lineage import WHERE, a_middle, at

CHARTS = {
    "": "score-curve .plot",
    "/lineage": "lineage-map .map",
    "/objectives": "pareto-scatter .plot",
    "/objectives#parallel": "parallel-axes .plot",
    "/grid": "cell-grid .plot",
}


def panel_of(page: Page) -> Locator:
    return page.locator("candidate-inspector[open]")


def opened(page: Page, run_id: str, tab: str) -> Locator:
    """Open a tab and wait until its chart is drawn."""
    page.goto(f"/runs/{run_id}{tab}")
    chart = page.locator(CHARTS[tab])
    expect(
        chart.locator("xpath=ancestor-or-self::*[@data-shown or @data-total or @data-kept or @data-filled]").first
    ).to_be_attached()
    return chart


def named(service: Service, run_id: str, name: str) -> Any:
    return service.get(f"/v1/candidates/{run_id}.{name}")


def test_a_click_on_a_mark_shows_its_candidate_in_place(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chosen = a_middle(columns)
    chart = opened(page, finished_run, "/lineage")
    chart.click(position=page.evaluate(WHERE, chosen))
    panel = panel_of(page)
    candidate = named(service, finished_run, at(columns, chosen))
    diff = service.get(f"/v1/candidates/{candidate['id']}/diff")
    expect(panel.get_by_role("heading", name=f"Candidate {at(columns, chosen)}")).to_be_visible()
    expect(panel.locator("[data-candidate]")).to_have_attribute("data-candidate", candidate["id"])
    expect(panel.get_by_role("link", name="Open")).to_have_attribute("href", f"/candidates/{candidate['id']}")
    expect(panel.get_by_role("heading", name=re.compile("Diff against"))).to_contain_text(
        f"+{diff['added']} −{diff['removed']} lines"
    )
    assert page.url.partition("?")[0].endswith("/lineage")
    page.reload()
    expect(panel.locator("[data-candidate]")).to_have_attribute("data-candidate", candidate["id"])
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)
    expect(page).not_to_have_url(re.compile("inspect="))


@pytest.mark.parametrize("tab", list(CHARTS))
def test_every_chart_is_inspected_by_keyboard(page: Page, service: Service, finished_run: str, tab: str) -> None:
    chart = opened(page, finished_run, tab)
    chart.focus()
    page.keyboard.press("Enter")
    panel = panel_of(page)
    candidate = panel.locator("[data-candidate]").get_attribute("data-candidate")
    name = service.get(f"/v1/candidates/{candidate}")["name"]
    heading = panel.get_by_role("heading", name=f"Candidate {name}")
    expect(heading).to_be_focused()
    expect(page).to_have_url(re.compile(rf"[?&]inspect={re.escape(name)}(&|#|$)"))
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(chart).to_be_focused()


def test_arrows_walk_over_the_records_of_the_curve(page: Page, service: Service, finished_run: str) -> None:
    fitness = service.get(f"/v1/runs/{finished_run}/columns")["fitness"]
    records = [
        place
        for place, value in enumerate(fitness)
        if value is not None and value > max((one for one in fitness[:place] if one is not None), default=-1e9)
    ]
    chart = opened(page, finished_run, "")
    chart.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    expect(panel_of(page).get_by_role("heading", name=f"Candidate {at(columns, records[-2])}")).to_be_visible()


def test_the_keys_of_the_lineage_take_the_panel_along(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chosen = a_middle(columns)
    opened(page, finished_run, "/lineage").click(position=page.evaluate(WHERE, chosen))
    expect(panel_of(page)).to_have_attribute("data-name", at(columns, chosen))
    page.locator("lineage-map .map").focus()
    page.keyboard.press("ArrowUp")
    expect(panel_of(page)).to_have_attribute("data-name", at(columns, columns["parent"][chosen]))
    page.keyboard.press("Escape")
    expect(panel_of(page)).to_have_count(0)
    expect(page.locator("lineage-map .chosen")).to_contain_text("Chosen: ")


def test_the_panel_keeps_off_the_mark(open_page: OpenPage, service: Service, finished_run: str) -> None:
    page = open_page(width=1440, height=900)
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chart = opened(page, finished_run, "/lineage")
    for chosen in (0, columns["total"] - 1):
        where = page.evaluate(WHERE, chosen)
        chart.click(position=where)
        panel, box = panel_of(page).bounding_box(), chart.bounding_box()
        assert panel
        assert box
        assert not panel["x"] <= box["x"] + where["x"] <= panel["x"] + panel["width"]
        page.keyboard.press("Escape")


def test_on_a_phone_it_is_a_sheet_at_the_foot(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(width=390, height=800)
    opened(page, finished_run, "/lineage").focus()
    page.keyboard.press("Enter")
    expect(panel_of(page).locator("[data-candidate]")).to_be_visible()
    box = panel_of(page).bounding_box()
    assert box
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 800)
    assert box["height"] <= 560
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_failed_candidate_says_why(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    failed = at(columns, columns["fitness"].index(None))
    page.goto(f"/runs/{finished_run}/lineage?inspect={failed}")
    expect(panel_of(page)).to_contain_text("a value that cannot be scored")


def test_a_candidate_that_there_is_not_is_told_once(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/lineage?inspect=999.9")
    expect(panel_of(page)).to_contain_text("There is no candidate 999.9.")
    expect(panel_of(page).get_by_role("button", name="Try again")).to_have_count(0)


def test_what_does_not_come_is_said_and_asked_again(page: Page, finished_run: str, complaints: Complaints) -> None:
    complaints.expect("503")
    page.route(re.compile("/inspect$"), lambda route: route.fulfill(status=503, body="away"))
    opened(page, finished_run, "/grid").focus()
    page.keyboard.press("Enter")
    expect(panel_of(page)).to_contain_text("This candidate cannot be shown (status 503).")
    page.unroute(re.compile("/inspect$"))
    panel_of(page).get_by_role("button", name="Try again").click()
    expect(panel_of(page).locator("[data-candidate]")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_panel_shuts_nobody_out(
    open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"], width: int
) -> None:
    page = open_page(theme=theme, width=width)
    opened(page, finished_run, "/lineage").focus()
    page.keyboard.press("Enter")
    expect(panel_of(page).locator("[data-candidate]")).to_be_visible()
    assert_accessible(page)

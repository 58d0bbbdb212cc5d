"""Pages with charts while they load: nothing moves, everything has a name, and what does not come is said."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from service.dashboard.run_page import TABS, Tab
from tests.browser.axe import SOURCE
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage

MAX_SHIFT = 0.1  # "good" as web.dev defines it
CHARTS = frozenset({"overview", "lineage", "objectives", "grid", "islands", "map", "diversity", "policy"})
WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""
BROKEN = """(rules) => axe.run(document, {runOnly: {type: "rule", values: rules}}).then((found) =>
    found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id} ${node.target.join(" ")}`)))"""
# Words in cells of tables that stand in more than one line.
CUT = """() => [...document.querySelectorAll("main .scroll td, main .scroll th")].flatMap((cell) => {
  const words = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text = words.nextNode(); text; text = words.nextNode())
    for (const { 0: word, index } of text.parentElement.closest("code") ? [] : text.data.matchAll(/\\p{L}+/gu)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(word);
    }
  return found;
})"""


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("tab", [tab for tab in TABS if tab.name in CHARTS], ids=lambda tab: tab.name)
def test_nothing_moves_while_charts_load(open_page: OpenPage, finished_run: str, tab: Tab, width: int) -> None:
    page = open_page(width=width, height=900)
    page.add_init_script(WATCH)
    page.goto(tab.of(finished_run))
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    assert page.evaluate("window.shift") < MAX_SHIFT


@pytest.mark.parametrize("path", ["/runs/{}", "/runs/{}/setup", "/compare?run={}"])
def test_tables_on_a_phone_cut_no_word(open_page: OpenPage, finished_run: str, path: str) -> None:
    page = open_page(path.format(finished_run), width=390)
    expect(page.locator("main .scroll td").first).to_be_visible()
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("path", ["/runs/{}", "/runs/{}/setup", "/runs/{}/events"])
def test_sentences_of_a_table_can_be_read_on_a_phone_without_scrolling_aside(
    open_page: OpenPage, finished_run: str, path: str
) -> None:
    page = open_page(path.format(finished_run), width=390)
    expect(page.locator(".stacking td.long").first).to_be_visible()
    ends = page.evaluate(
        "[...document.querySelectorAll('.stacking td.long')].map((cell) => cell.getBoundingClientRect())"
        ".map((box) => [box.left, box.right, box.width])"
    )
    assert all(left >= 0 and right <= 390 and width > 300 for left, right, width in ends), ends
    page.evaluate(SOURCE)
    assert page.evaluate(BROKEN, ["td-headers-attr", "scrollable-region-focusable", "aria-required-children"]) == []


@pytest.mark.parametrize("tab", ["grid", "objectives", "policy"])
def test_canvases_and_landmarks_have_names_of_their_own(page: Page, finished_run: str, tab: str) -> None:
    page.route(re.compile(r"/v1/runs/.*/(grid|columns|metrics)"), lambda _: None)  # charts that are not drawn yet
    page.goto(f"/runs/{finished_run}/{tab}")
    page.evaluate(SOURCE)
    assert page.evaluate(BROKEN, ["landmark-unique", "role-img-alt", "svg-img-alt"]) == []


@pytest.mark.parametrize(("tab", "chart"), [("grid", "cell-grid"), ("grid", "grid-series")])
def test_a_chart_whose_numbers_do_not_come_says_so_and_asks_again(
    page: Page, finished_run: str, complaints: Complaints, tab: str, chart: str
) -> None:
    complaints.expect("503")
    away = [True]

    def answer(route: Route) -> None:
        if away[0]:
            route.fulfill(status=503, body="away")
        else:
            route.continue_()

    page.route(re.compile(r"/v1/runs/[^/]+/(grid|metrics)"), answer)
    page.goto(f"/runs/{finished_run}/{tab}")
    said = page.locator(chart).locator("[data-chart-failed]")
    expect(said).to_contain_text("The numbers of this chart did not come (status 503).")
    away[0] = False
    said.get_by_role("button", name="Try again").click()
    expect(said).to_have_count(0)
    expect(page.locator(chart).locator("canvas").first).to_be_visible()


def test_the_mark_of_a_failure_is_no_island_s(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    shapes = page.evaluate(
        """async () => {
          const address = [...document.scripts].map((one) => one.src).find((one) => one.endsWith("evolve.js"));
          const palette = await import(address.replace("evolve.js", "palette.js"));
          return [palette.FAILURE, ...Array.from({ length: 24 }, (_, island) => palette.islandShape(island))];
        }"""
    )
    assert shapes[0] == "cross"
    assert not {"cross", "plus"} & set(shapes[1:])

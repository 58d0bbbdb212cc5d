"""How the islands of a run differ, and who went between them."""

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def opened(page: Page, run_id: str) -> None:
    """Open the page and wait until its charts are drawn."""
    page.goto(f"/runs/{run_id}/islands")
    expect(page.locator("island-curves")).to_have_attribute("data-shown", re.compile(r"\d+"))


def cells(page: Page, region: str) -> list[list[str]]:
    rows = page.get_by_role("region", name=region, exact=True).locator("tbody tr")
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


def test_the_table_shows_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    islands = service.get(f"/v1/runs/{finished_run}/islands")["items"]
    opened(page, finished_run)
    rows = cells(page, "Islands")
    assert [row[:2] for row in rows] == [[str(one["number"]), str(one["members"])] for one in islands]
    assert [float(row[2]) for row in rows] == pytest.approx([one["best_fitness"] for one in islands], rel=1e-4)
    # A grid of 8 times 6 cells over the ranges of the whole run: members that an island's own, narrower ranges tell
    # apart may share one of them.
    assert all(0 < one["filled"] <= one["members"] and one["cells"] == 48 for one in islands)
    assert [row[4] for row in rows] == [f"{100 * one['filled'] / 48:.3g}\u202f%" for one in islands]


def test_the_matrix_counts_every_migrant(page: Page, service: Service, finished_run: str) -> None:
    moves = service.get(f"/v1/runs/{finished_run}/migrations?limit=200")["items"]
    assert moves
    opened(page, finished_run)
    rows = cells(page, "Candidates that migrated")
    for row in rows:
        for other, told in zip((one[0] for one in rows), row[1:], strict=True):
            ends = int(row[0]), int(other)
            sent = [len(one["candidate_ids"]) for one in moves if (one["from_island"], one["to_island"]) == ends]
            assert told == (str(sum(sent)) if sent else "·")


def test_resets_are_those_of_the_log(page: Page, service: Service, finished_run: str) -> None:
    resets = service.get(f"/v1/runs/{finished_run}/events?kinds=island.reset")["items"]
    opened(page, finished_run)
    shown = [(int(row[0]), int(row[3].replace("\u202f", ""))) for row in cells(page, "Resets")]
    assert shown == [(one["island"], one["sequence"]) for one in reversed(resets)]


def test_one_cursor_reads_all_charts(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    opened(page, finished_run)
    reads = page.locator("island-curves .read")
    expect(reads).to_have_count(len(set(columns["island"])))
    for island, read in enumerate(reads.all()):
        born = [value for value, one in zip(columns["fitness"], columns["island"], strict=True) if one == island]
        valid = [value for value in born if value is not None]
        best, mean = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", read.inner_text().replace("\u202f", "")))
        assert (best, mean) == pytest.approx((max(valid), sum(valid[-20:]) / len(valid[-20:])), rel=1e-3)
    page.locator("island-curves .u-over").first.hover()
    for read in reads.all():
        expect(read).to_contain_text(re.compile(r"^at \d+: best"))


def test_without_script_the_tables_are_there(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/islands", javascript=False)
    assert len(cells(page, "Islands")) == 3
    expect(page.get_by_role("img", name="Migrations over the evaluations")).to_be_visible()


def test_it_keeps_up_with_the_run(page: Page, live_run: str) -> None:
    opened(page, live_run)
    shown = int(page.locator("island-curves").get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('island-curves').dataset.shown) > seen", arg=shown)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"]) -> None:
    page: Any = open_page(theme=theme)
    opened(page, finished_run)
    assert_accessible(page)

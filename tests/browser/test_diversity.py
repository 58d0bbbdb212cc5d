"""How different the candidates of a run were over its evaluations."""

import itertools
import math
import re
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def opened(page: Page, run_id: str) -> None:
    """Open the page and wait until its charts are drawn."""
    page.goto(f"/runs/{run_id}/diversity")
    expect(page.locator("diversity-curves")).to_have_attribute("data-shown", re.compile(r"\d+"))


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("\u202f", "").replace("%", "")) for text in texts]


def test_the_table_shows_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    points = service.get(f"/v1/runs/{finished_run}/metrics?points=20")["points"]
    opened(page, finished_run)
    rows = page.get_by_role("region", name="Diversity over the evaluations").locator("tbody tr")
    expect(rows).to_have_count(len(points))
    for row, point in zip(rows.all(), points, strict=True):
        shares = [100 * point[name] for name in ("duplicate_share", "rejected_share")]
        told = [point["evaluations"], 100 * point["distinct_share"], point["reward_distance"], *shares]
        told += [point["island_entropy"], point["outcome_entropy"]]
        shown = row.locator("th, td").all_inner_texts()
        if point["reward_distance"] is None:
            assert shown.pop(2) == "–"
            told.pop(2)
        assert numbers(shown) == pytest.approx(told, rel=6e-3)


def test_charts_tell_distances_of_the_run_and_of_each_island(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    rewards = list(zip(*columns["rewards"], strict=True))

    def distance(places: list[int]) -> float:
        pairs = [math.dist(rewards[a], rewards[b]) for a, b in itertools.combinations(places, 2)]
        return sum(pairs) / len(pairs)

    valid = [place for place, value in enumerate(columns["fitness"]) if value is not None]
    islands = sorted(set(columns["island"]))
    told = [distance(valid[-100:])]
    told += [distance([place for place in valid if columns["island"][place] == island][-50:]) for island in islands]
    opened(page, finished_run)
    read = page.locator("diversity-curves .read").nth(1)
    expect(read).to_contain_text(f"island {islands[-1]}")
    shown = [float(found) for found in re.findall(r"(?:all|island \d+) ([\d.]+)", read.inner_text())]
    assert shown == pytest.approx(told, rel=1e-3)
    page.locator("diversity-curves .u-over").first.hover()
    for other in page.locator("diversity-curves .read").all():
        expect(other).to_contain_text(re.compile(r"^at \d+: "))


def test_it_keeps_up_with_the_run(page: Page, live_run: str) -> None:
    opened(page, live_run)
    shown = int(page.locator("diversity-curves").get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('diversity-curves').dataset.shown) > seen", arg=shown)
    table = "#diversity-table tbody tr:last-child th"
    page.wait_for_function(
        "([row, seen]) => Number(document.querySelector(row).textContent) > seen", arg=[table, shown]
    )


def test_without_script_the_numbers_and_their_meaning_are_there(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/diversity", javascript=False)
    rows = page.get_by_role("region", name="Diversity over the evaluations").locator("tbody tr")
    expect(rows).to_have_count(20)
    expect(page.get_by_text("Mean Euclidean distance")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"]) -> None:
    page = open_page(theme=theme)
    opened(page, finished_run)
    assert_accessible(page)

"""The map of a run's programs: what it shows, in place and over time, and that it keeps a page at hand."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, Position, expect

from service.dashboard.numbers import number
from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service

COUNT = 12_000
TRIES = 3  # what else the machine does makes a task longer, and none shorter
# Milliseconds of script that a long map takes in its longest task, apart from what else the machine does.
LONGEST = """async (programs) => {
  const map = document.querySelector('program-map');
  const spent = [];
  const paint = map.paint.bind(map);
  map.paint = (...words) => {
    const begin = performance.now();
    paint(...words);
    spent.push(performance.now() - begin);
  };
  delete map.dataset.shown;
  const begin = performance.now();
  map.take(programs);
  spent.push(performance.now() - begin);
  while (!map.dataset.shown) await new Promise((resolve) => setTimeout(resolve, 20));
  return [spent.length, Math.max(...spent), Number(map.dataset.shown)];
}"""


def opened(page: Page, run_id: str, query: str = "") -> None:
    """Open the page and wait until the map is drawn."""
    page.goto(f"/runs/{run_id}/map{query}")
    expect(page.locator("program-map")).to_have_attribute("data-shown", re.compile(r"\d"))


def spot(page: Page, at: int) -> Position:
    """Where a candidate of the columns lies in the picture."""
    x, y = page.evaluate("at => document.querySelector('program-map').spots[at]", at)
    return {"x": x, "y": y}


def whole(service: Service, run_id: str) -> dict[str, Any]:
    """The map as the API tells it, once it is complete."""
    while not (found := service.get(f"/v1/runs/{run_id}/program-map"))["complete"]:
        continue
    assert isinstance(found, dict)
    return found


def test_the_map_and_its_tables_show_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    found = whole(service, finished_run)
    opened(page, finished_run)
    assert found["total"] == len(found["place"]) == 120
    expect(page.locator("program-map")).to_have_attribute("data-shown", "120")
    told = page.locator("#map-table .note").first
    expect(told).to_contain_text("120 of 120 candidates are on the map.")
    expect(told).to_contain_text(f"rank correlation of {number(found['correlation'], 2)}, over {number(4950)} pairs")
    rows = page.get_by_role("region", name="Islands and operators on the map").locator("tbody tr")
    for island in sorted(set(found["island"])):
        members = [at for at, value in enumerate(found["island"]) if value == island]
        centre = [sum(found[axis][at] for at in members) / len(members) for axis in "xy"]
        spread = sum(
            ((found["x"][at] - centre[0]) ** 2 + (found["y"][at] - centre[1]) ** 2) ** 0.5 for at in members
        ) / len(members)
        row = rows.filter(has_text=f"island {island}")
        expect(row.locator("td").first).to_have_text(str(len(members)))
        assert float(row.locator("td").nth(1).inner_text()) == pytest.approx(spread, rel=6e-3)
    fittest = page.get_by_role("region", name="The fittest candidates on the map").locator("tbody tr")
    best = max(range(120), key=lambda at: -99 if found["fitness"][at] is None else found["fitness"][at])
    expect(fittest).to_have_count(20)
    expect(fittest.first).to_contain_text(f"{found['proposal_number'][best]}.{found['position'][best]}")
    expect(fittest.first.locator("td").nth(1)).to_have_text("0")


def test_a_mark_shows_its_candidate_in_place(page: Page, service: Service, finished_run: str) -> None:
    found = whole(service, finished_run)
    best = max(range(120), key=lambda at: -99 if found["fitness"][at] is None else found["fitness"][at])
    name = f"{found['proposal_number'][best]}.{found['position'][best]}"
    opened(page, finished_run)
    canvas = page.locator("program-map canvas").first
    canvas.hover(position=spot(page, best))
    expect(page.locator("program-map .tip")).to_contain_text(f"{name}, island {found['island'][best]}")
    expect(page.locator("program-map .tip")).to_contain_text("0 from the best")
    canvas.click(position=spot(page, best))
    panel = page.locator("candidate-inspector[open]")
    expect(panel.locator("[data-candidate]")).to_be_visible()
    expect(page).to_have_url(re.compile(f"inspect={re.escape(name)}"))
    page.keyboard.press("Escape")
    page.locator("program-map .plot").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("program-map .tip")).to_contain_text(f"{name}, ")
    page.keyboard.press("Enter")
    expect(panel).to_have_attribute("data-name", name)


def test_colours_and_the_moment_are_in_the_address(page: Page, service: Service, finished_run: str) -> None:
    found = whole(service, finished_run)
    opened(page, finished_run, "?colour=island&until=30")
    map_ = page.locator("program-map")
    expect(map_).to_have_attribute("data-shown", str(sum(place < 30 for place in found["place"])))
    expect(map_.locator(".legend")).to_contain_text("island 2")
    expect(map_.locator("output")).to_contain_text("After 30 evaluations: 30 on the map, best")
    map_.get_by_role("link", name="operator").click()
    expect(page).to_have_url(re.compile("colour=operator&until=30"))
    expect(map_.locator(".legend")).to_contain_text(found["operators"][found["operator"][-1]])
    map_.get_by_role("link", name="fitness").click()
    expect(map_.locator(".legend .scale canvas")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(map_).to_have_attribute("data-shown", "120")
    expect(page).not_to_have_url(re.compile("until="))


def test_a_map_of_thousands_is_drawn_a_portion_at_a_time(page: Page, service: Service, finished_run: str) -> None:
    found = whole(service, finished_run)
    times = COUNT // 120
    longer = {name: column * times if isinstance(column, list) else column for name, column in found.items()}
    longer |= {"total": COUNT, "place": list(range(COUNT))}
    longer |= {"outcomes": found["outcomes"], "operators": found["operators"]}
    opened(page, finished_run)
    drawn = [page.evaluate(LONGEST, longer) for _ in range(TRIES)]
    assert all(shown == COUNT and portions > 4 for portions, _, shown in drawn)
    assert min(longest for _, longest, _ in drawn) < 100


def test_it_keeps_up_with_the_run(page: Page, live_run: str) -> None:
    opened(page, live_run)
    shown = int(page.locator("program-map").get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('program-map').dataset.shown) > seen", arg=shown)


def test_hostile_programs_are_on_the_map_and_run_nothing(
    open_page: OpenPage, installation: Installation, tmp_path: Path
) -> None:
    run_id = hostile.answered(installation, tmp_path)
    page = open_page()
    opened(page, run_id, "?colour=operator")
    page.locator("program-map .plot").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("program-map .tip")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("candidate-inspector[open] [data-candidate]")).to_be_visible()
    hostile.assert_harmless(page)


def test_without_script_the_tables_are_there(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/map", javascript=False)
    expect(page.get_by_role("region", name="The fittest candidates on the map").locator("tbody tr")).to_have_count(20)
    expect(page.locator("#map-table")).to_contain_text("rank correlation")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_shuts_nobody_out(
    open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"], width: int
) -> None:
    page = open_page(theme=theme, width=width)
    opened(page, finished_run)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_accessible(page)

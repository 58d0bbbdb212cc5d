"""Every candidate of a run with its descent."""

import json
import math
import re
from statistics import median
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service

PROGRAMS, FRAMES, FRAME_MILLISECONDS = 10_000, 60, 8.0
WHERE = """async place => {
    const map = document.querySelector('lineage-map');
    const paint = document.querySelector('script[src*="lineage-map"]').src.replace('lineage-map', 'lineage-paint');
    const { across } = await import(paint);
    return { x: across(map.layout, map.model.xs[place]), y: map.layout.ys[place] };
}"""
PAN = """async frames => {
    const map = document.querySelector('lineage-map'), took = [];
    map.press('+');
    map.press('+');
    const { from, to } = map.view;
    for (let frame = 0; frame < frames; frame += 1) {
        map.look(from + Math.sin(frame / 9) * (to - from) / 3, to + Math.sin(frame / 9) * (to - from) / 3);
        await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
        took.push(map.took);
    }
    return took;
}"""


def opened(page: Page, run_id: str, query: str = "") -> None:
    """Open the map and wait until it is drawn."""
    page.goto(f"/runs/{run_id}/lineage{query}")
    expect(page.locator("lineage-map")).to_have_attribute("data-shown", re.compile(r"\d+"))


def kin(columns: Any, chosen: int) -> tuple[set[int], set[int]]:
    """Ancestors and descendants of an evaluation, found from every other one."""

    def line(place: int) -> list[int]:
        parent = columns["parent"][place]
        return [] if parent < 0 else [parent, *line(parent)]

    every = range(columns["total"])
    return set(line(chosen)), {place for place in every if chosen in line(place)}


def at(columns: Any, place: int) -> str:
    return f"{columns['proposal_number'][place]}.{columns['position'][place]}"


def a_middle(columns: Any) -> int:
    """An evaluation that has ancestors and descendants, and stands alone at its place of the map."""
    places = list(zip(columns["proposal_number"], columns["fitness"], strict=True))
    found = [
        place
        for place in range(columns["total"])
        if columns["parent"][place] >= 0 and place in columns["parent"] and places.count(places[place]) == 1
    ]
    return found[len(found) // 2]


def test_the_line_of_the_best_is_that_of_the_api(page: Page, service: Service, finished_run: str) -> None:
    best = service.get(f"/v1/runs/{finished_run}")["best_candidate_id"]
    line = service.get(f"/v1/candidates/{best}/lineage?direction=ancestors")["items"]
    opened(page, finished_run)
    links = page.get_by_role("region", name="Line of candidates").locator("tbody td:nth-child(2) a")
    assert [link.get_attribute("href") for link in links.all()] == [f"/candidates/{one['id']}" for one in line]
    expect(page.locator("lineage-map .chosen")).to_contain_text(f"Best: candidate {line[0]['proposal_number']}.")
    expect(page.locator("lineage-map .chosen")).to_contain_text(f"depth {len(line) - 1},")


def counted(found: set[int], word: str) -> str:
    """A number with its noun."""
    return f"{len(found)} {word}{'' if len(found) == 1 else 's'}"


def test_a_click_lights_all_kin_and_stays_in_the_address(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chosen = a_middle(columns)
    ancestors, descendants = kin(columns, chosen)
    opened(page, finished_run)
    page.locator("lineage-map .map").click(position=page.evaluate(WHERE, chosen))
    told = page.locator("lineage-map .chosen")
    expect(told).to_contain_text(f"Chosen: candidate {at(columns, chosen)}:")
    expect(told).to_contain_text(f"{counted(ancestors, 'ancestor')}, {counted(descendants, 'descendant')}.")
    flags = page.evaluate("() => [...document.querySelector('lineage-map').kin.flags]")
    assert {place for place, flag in enumerate(flags) if flag} == ancestors | descendants | {chosen}
    expect(page).to_have_url(re.compile(rf"[?&]at={re.escape(at(columns, chosen))}(&|$)"))
    expect(page.get_by_role("heading", name="Line of the chosen candidate")).to_be_visible()
    expect(page.get_by_role("region", name="Line of candidates").locator("tbody tr")).to_have_count(len(ancestors) + 1)
    page.reload()
    expect(told).to_contain_text(f"Chosen: candidate {at(columns, chosen)}:")
    expect(page.get_by_role("heading", name="Line of the chosen candidate")).to_be_visible()
    expect(told.get_by_role("link")).to_have_attribute("href", f"/runs/{finished_run}/candidates/{at(columns, chosen)}")


def test_the_keyboard_walks_zooms_and_lets_go(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chosen = a_middle(columns)
    opened(page, finished_run, f"?at={at(columns, chosen)}&x=evaluation")
    told = page.locator("lineage-map .chosen")
    page.locator("lineage-map .map").focus()
    page.keyboard.press("ArrowUp")
    expect(told).to_contain_text(f"Chosen: candidate {at(columns, columns['parent'][chosen])}:")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]from="))
    seen = page.evaluate("() => document.querySelector('lineage-map').view")
    assert seen["to"] - seen["from"] == pytest.approx((columns["total"] + 1) / 1.5)
    page.reload()
    expect(page.locator("lineage-map")).to_have_attribute("data-shown", re.compile(r"\d+"))
    kept = page.evaluate("() => document.querySelector('lineage-map').view")
    assert (kept["from"], kept["to"]) == pytest.approx((seen["from"], seen["to"]), abs=0.01)
    page.locator("lineage-map .map").focus()
    page.keyboard.press("Escape")
    expect(told).to_contain_text("Best: ")
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile(r"[?&](from|at)="))


def test_axes_are_chosen_in_the_address(page: Page, finished_run: str) -> None:
    opened(page, finished_run)
    stacked = page.locator("lineage-map .map").bounding_box()
    page.get_by_role("link", name="evaluations", exact=True).click()
    page.get_by_role("link", name="on one axis").click()
    expect(page).to_have_url(re.compile(r"x=evaluation.*lanes=common|lanes=common.*x=evaluation"))
    expect(page.get_by_role("link", name="on one axis")).to_have_attribute("aria-current", "true")
    common = page.locator("lineage-map .map").bounding_box()
    assert stacked
    assert common
    assert common["height"] != stacked["height"]
    assert page.evaluate("() => document.querySelector('lineage-map').model.xs[7]") == 8


def test_hovering_tells_of_the_program(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    chosen = a_middle(columns)
    opened(page, finished_run)
    page.locator("lineage-map .map").hover(position=page.evaluate(WHERE, chosen))
    worth = f"fitness {number(columns['fitness'][chosen])}"  # of two objectives
    expect(page.locator("lineage-map .tip")).to_contain_text(f"Candidate {at(columns, chosen)}: {worth},")


def test_the_run_is_replayed(page: Page, service: Service, finished_run: str) -> None:
    columns = service.get(f"/v1/runs/{finished_run}/columns")
    then = max(range(40), key=lambda place: (columns["fitness"][place] or -math.inf, -place))
    opened(page, finished_run, "?until=40")
    expect(page.locator("lineage-map .chosen")).to_contain_text(f"Best: candidate {at(columns, then)}:")
    expect(page.locator("lineage-map output")).to_contain_text("After 40 evaluations: ")
    assert page.evaluate("() => document.querySelector('lineage-map').model.until") == 40
    page.get_by_role("button", name="Play").click()
    best = service.get(f"/v1/runs/{finished_run}")["best_candidate_id"]
    expect(page.locator("lineage-map .chosen")).to_contain_text(
        f"Best: candidate {service.get(f'/v1/candidates/{best}')['name']}:"
    )
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).not_to_have_url(re.compile("until="))


def test_play_can_be_paused_and_goes_into_the_address(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(motion=True)
    opened(page, finished_run)
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    until = page.evaluate("() => document.querySelector('lineage-map').model.until")
    assert until < 120
    expect(page).to_have_url(re.compile(rf"[?&]until={until}(&|$)"))


def test_the_map_grows_with_the_run(page: Page, live_run: str) -> None:
    opened(page, live_run)
    shown = int(page.locator("lineage-map").get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('lineage-map').dataset.shown) > seen", arg=shown)


def test_a_frame_of_ten_thousand_programs_takes_few_milliseconds(page: Page, finished_run: str) -> None:
    told = json.dumps(many(finished_run, PROGRAMS))
    page.route(
        lambda url: url.split("?")[0].endswith("/columns"),
        lambda route: route.fulfill(body=told, content_type="application/json"),
    )
    opened(page, finished_run, "?at=1.0")
    took = page.evaluate(PAN, FRAMES)
    assert len(took) == FRAMES
    assert median(took) <= FRAME_MILLISECONDS


def many(run_id: str, count: int) -> dict[str, Any]:
    """Columns of a long run on four islands."""
    rng = np.random.default_rng(3)
    places = np.arange(count)
    fitness = np.round(np.log1p(places) + rng.normal(size=count), 4)
    return {
        "run_id": run_id, "sequence": count, "total": count, "begin": 0, "sampled": False, "first_at": None,
        "objectives": [], "outcomes": ["ok", "error"], "operators": ["mutate"], "policies": ["syntax"],
        "place": places.tolist(), "proposal_number": (places // 4 + 1).tolist(), "position": (places % 4).tolist(),
        "island": (places // 4 % 4).tolist(), "outcome": (places % 9 == 0).astype(int).tolist(),
        "operator": [0] * count, "policy": [0] * count, "seconds": [0.0] * count, "rewards": [], "marks": [],
        "parent": np.minimum(places - 1, np.maximum(0, places - 1 - rng.integers(0, 300, count))).tolist(),
        "fitness": [None if place % 9 == 0 else value for place, value in enumerate(fitness.tolist())],
    }  # fmt: skip


def test_without_script_a_program_is_chosen_by_its_link(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/lineage", javascript=False)
    region = page.get_by_role("region", name="Line of candidates")
    steps = region.locator("tbody tr").count()
    assert steps > 2
    region.get_by_role("link", name="Choose candidate").nth(1).click()
    expect(page.get_by_role("heading", name="Line of the chosen candidate")).to_be_visible()
    expect(region.locator("tbody tr")).to_have_count(steps - 1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"]) -> None:
    page = open_page(theme=theme)
    opened(page, finished_run)
    assert_accessible(page)


def test_a_program_that_is_not_there_is_not_found(page: Page, finished_run: str, complaints: Any) -> None:
    complaints.expect("404")
    answer = page.goto(f"/runs/{finished_run}/lineage?at=999999.0")
    assert answer
    assert answer.status == 404

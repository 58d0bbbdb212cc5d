"""Batches: started from a form that says first what they may cost, and watched while they go on."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import FINISHED, Service, until
from tests.browser.test_layout import CUT


@pytest.fixture(scope="module")
def batch(service: Service, finished_run: str) -> str:
    """The id of a batch of four runs that have ended."""
    del finished_run  # its problem is there
    sweep = {
        "problem": FINISHED,
        "policies": ["syntax"],
        "seeds": [1, 2],
        "config": {"budget": {"evaluations": 12}},
        "variants": {"few": {"islands": 1}, "many": {"islands": 2}},
    }
    answer = service.client.post("/v1/batches", json={"name": "four", "sweep": sweep}).raise_for_status()
    batch_id = str(answer.json()["id"])
    until(lambda: service.get(f"/v1/batches/{batch_id}")["state"] == "succeeded")
    return batch_id


def fill(page: Page) -> None:
    page.goto("/batches")
    page.get_by_role("link", name="New batch").click()
    page.get_by_label("Problem").select_option(label=f"{FINISHED}@1")
    page.get_by_label("Seeds").fill("1-2")
    page.get_by_label("syntax").check()
    for row, (key, values) in enumerate((("islands", "1, 2, 3"), ("budget.evaluations", "10")), start=1):
        page.get_by_label(f"Key {row}").fill(key)
        page.get_by_label(f"Values {row}").fill(values)


def test_a_sweep_says_what_it_may_cost_before_it_starts(page: Page, service: Service, finished_run: str) -> None:
    del finished_run  # its problem is there
    before = len(service.get("/v1/batches?limit=200")["items"])
    fill(page)
    start = page.get_by_role("button", name="Start 6 runs")
    expect(start).to_be_visible()
    tiles = page.locator("#sweep-verdict .tile")
    expect(tiles.filter(has_text="Evaluations").locator("strong")).to_have_text("60")
    expect(tiles.filter(has_text="Money").locator("strong")).to_have_text("no limit")
    expect(page.get_by_role("region", name="Combinations").locator("tbody tr")).to_have_count(3)
    assert_accessible(page)
    assert len(service.get("/v1/batches?limit=200")["items"]) == before
    start.click()
    expect(page).to_have_url(re.compile("/batches/bat_"))
    batch_id = page.url.rsplit("/", 1)[1]
    runs = service.get(f"/v1/runs?batch_id={batch_id}&limit=50")["items"]
    assert sorted((run["config"]["islands"], run["seed"]) for run in runs) == [
        (n, s) for n in (1, 2, 3) for s in (1, 2)
    ]
    assert {run["config"]["budget"]["evaluations"] for run in runs} == {10}
    expect(page.locator("#batch-standing > .about")).to_contain_text("6 of 6 runs have ended")  # without a reload
    expect(page.locator("h1 .state")).to_have_text("succeeded")


def test_enter_in_a_field_starts_nothing(page: Page, service: Service, finished_run: str) -> None:
    del finished_run  # its problem is there
    before = len(service.get("/v1/batches?limit=200")["items"])
    fill(page)
    expect(page.get_by_role("button", name="Start 6 runs")).to_be_visible()
    page.get_by_label("Values 1").fill("1, 2")
    page.get_by_label("Values 1").press("Enter")
    expect(page).to_have_url(re.compile("/batches/new/check$"))
    expect(page.get_by_role("button", name="Start 4 runs")).to_be_visible()
    assert len(service.get("/v1/batches?limit=200")["items"]) == before


def test_values_that_no_key_takes_are_refused_before_anything_starts(page: Page, finished_run: str) -> None:
    del finished_run  # its problem is there
    fill(page)
    page.get_by_label("Values 1").fill("1, many")
    expect(page.locator("#sweep-verdict").get_by_role("alert")).to_contain_text("islands")
    expect(page.get_by_role("button", name="Start")).to_have_count(0)


def test_the_form_works_without_script(open_page: OpenPage, finished_run: str) -> None:
    del finished_run  # its problem is there
    page = open_page(javascript=False)
    fill(page)
    page.get_by_role("button", name="Show the runs").click()
    expect(page.get_by_role("button", name="Start 6 runs")).to_be_visible()
    expect(page.get_by_label("Values 1")).to_have_value("1, 2, 3")


def test_the_runs_of_a_batch_stand_over_parallel_axes(page: Page, service: Service, batch: str) -> None:
    page.goto(f"/batches/{batch}")
    picture = page.locator("svg.parallel")
    expect(picture.locator("a")).to_have_count(4)
    expect(picture.locator("text.name")).to_have_text(["islands", "Best fitness"])
    runs = service.get(f"/v1/runs?batch_id={batch}")["items"]
    best = max(run["best_fitness"] for run in runs)
    last = picture.locator("a").last.get_attribute("href") or ""
    assert last.removeprefix("/runs/") in {run["id"] for run in runs if run["best_fitness"] == best}


def test_a_drag_along_an_axis_selects_runs(page: Page, service: Service, batch: str) -> None:
    runs = service.get(f"/v1/runs?batch_id={batch}")["items"]
    many = {run["id"] for run in runs if run["config"]["islands"] == 2}
    page.goto(f"/batches/{batch}")
    picture = page.locator("svg.parallel")
    expect(page.locator("#batch-brushes fieldset")).to_have_count(2)
    axis = picture.locator("line").first.bounding_box()
    assert axis
    x = axis["x"] + axis["width"] / 2
    page.mouse.move(x, axis["y"] + 1)
    page.mouse.down()
    page.mouse.move(x, axis["y"] + axis["height"] / 2, steps=4)
    page.mouse.up()
    expect(page.locator("#batch-brushes [role=status]")).to_have_text("2 of 4 runs with a result are selected.")
    expect(page).to_have_url(re.compile(r"brush\.islands=2%7E2"))
    expect(picture.locator("rect.brush")).to_have_count(1)
    expect(picture.locator("a.faded")).to_have_count(2)
    rows = page.get_by_role("region", name="Runs", exact=True).locator("tbody tr:visible")
    expect(rows).to_have_count(2)
    assert {row.get_attribute("data-run") for row in rows.all()} == many
    page.reload()
    expect(rows).to_have_count(2)


@pytest.mark.parametrize("part", [0.02, 0.5, 0.98])
def test_a_click_on_an_axis_clears_its_brush_alone(page: Page, batch: str, part: float) -> None:
    page.goto(f"/batches/{batch}?brush.islands=2~2")
    picture = page.locator("svg.parallel")
    expect(picture.locator("rect.brush")).to_have_count(1)
    other = page.get_by_label("Best fitness from")
    other.select_option(index=1)
    expect(picture.locator("rect.brush")).to_have_count(2)
    picture.evaluate("picture => picture.scrollIntoView({block: 'center'})")
    axis = picture.locator("line[data-axis=islands]").bounding_box()
    assert axis
    # Lines of runs, which are links, begin at both ends of the axis.
    page.mouse.click(axis["x"] + axis["width"] / 2, axis["y"] + part * axis["height"])
    expect(picture.locator("rect.brush")).to_have_count(1)
    expect(page.get_by_label("islands from")).to_have_value("")
    expect(page.get_by_label("islands to")).to_have_value("")
    expect(other).not_to_have_value("")
    expect(page).not_to_have_url(re.compile(r"brush\.islands"))
    expect(page).to_have_url(re.compile(rf"/batches/{batch}"))
    page.reload()
    expect(picture.locator("rect.brush")).to_have_count(1)


def test_a_keyboard_selects_runs_as_well(page: Page, batch: str) -> None:
    page.goto(f"/batches/{batch}")
    page.get_by_label("islands from").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("islands from")).to_have_value("1")
    page.get_by_label("islands to").select_option("1")
    expect(page).to_have_url(re.compile(r"brush\.islands=1%7E1"))
    expect(page.locator("svg.parallel a.faded")).to_have_count(2)
    page.evaluate("document.dispatchEvent(new Event('htmx:after:swap'))")  # as on a live page
    expect(page.locator("svg.parallel a.faded")).to_have_count(2)
    expect(page.locator("#batch-brushes fieldset")).to_have_count(2)


def test_hostile_values_on_an_axis_are_text(page: Page, batch: str) -> None:
    page.goto(f"/batches/{batch}")
    page.evaluate(
        """value => {
          const link = document.querySelector('svg.parallel a[data-line]');
          const line = JSON.parse(link.dataset.line);
          link.setAttribute('data-line', JSON.stringify({...line, values: [value, ...line.values.slice(1)]}));
          document.dispatchEvent(new Event('htmx:after:swap'));
        }""",
        hostile.SCRIPT,
    )
    page.get_by_label("islands from").select_option(hostile.SCRIPT)
    expect(page).to_have_url(re.compile(r"brush\.islands="))
    page.reload()
    expect(page.locator("svg.parallel")).to_be_visible()
    assert page.title() != "taken over"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_a_batch_shuts_nobody_out(open_page: OpenPage, batch: str, theme: str, width: int) -> None:
    page = open_page(f"/batches/{batch}?brush.islands=2~2", theme=theme, width=width)
    expect(page.locator("svg.parallel rect.brush")).to_be_visible()
    assert_accessible(page)


@pytest.mark.parametrize("path", ["/batches/new", "/batches/{}"])
def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, batch: str, path: str) -> None:
    page = open_page(path.format(batch), width=360)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CUT) == []

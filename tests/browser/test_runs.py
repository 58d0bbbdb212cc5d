"""The list of runs: it says what the API says, stays where it is while runs go on, and steers many at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import FINISHED, Service, installed

FINISHED_RUNS = "/runs?labels=purpose%3Dtests"  # with the label of the finished run, which may be none of the newest
HOSTILE = "<img src=x onerror=\"document.title='taken'\">\u202eeman"


def row(page: Page, run_id: str) -> Locator:
    return page.locator(f"tr[data-row='{run_id}']")


@pytest.fixture
def short_run(service: Service, finished_run: str) -> str:
    """The id of a run that has ended and that a test may remove."""
    assert finished_run  # its problem is stored
    run_id = service.submit(FINISHED, evaluations=3, labels={"purpose": "short", "name": HOSTILE})
    service.end(run_id)
    return run_id


@pytest.fixture
def created(service: Service) -> Iterator[list[str]]:
    """Runs that are ended when the test is over."""
    ids: list[str] = []
    yield ids
    for run_id in ids:
        service.cancel(run_id)


@pytest.mark.parametrize("javascript", [True, False])
def test_rows_say_what_the_api_says(open_page: OpenPage, service: Service, finished_run: str, javascript: bool) -> None:
    page, run = (
        open_page(FINISHED_RUNS, javascript=javascript),
        service.get(f"/v1/runs/{finished_run}"),
    )
    cells = row(page, finished_run)
    expect(cells.get_by_role("link", name=f"{FINISHED} · seed 7")).to_have_attribute("href", f"/runs/{finished_run}")
    expect(cells.locator("[data-cell=state]")).to_contain_text("succeeded")
    expect(cells.locator("[data-cell=budget]")).to_contain_text(f"{run['progress']['evaluated']} of 120")
    expect(cells.locator("[data-cell=best] strong")).to_have_text(f"{run['best_fitness']:.5g}")
    expect(cells).to_contain_text("purpose=tests")
    expect(page.locator("tr[data-row]")).to_have_count(1)


def test_runs_are_found_by_their_owner(page: Page, service: Service, finished_run: str) -> None:
    owner = service.get(f"/v1/runs/{finished_run}")["created_by"]
    page.goto("/runs?created_by=nobody%20of%20this%20name")
    expect(page.get_by_text("No matching run")).to_be_visible()
    expect(page.locator("#filter-owner")).to_have_value("nobody of this name")
    page.goto("/runs?group=owner")
    expect(page.locator("tr.group").filter(has_text=owner or "nobody named")).to_have_count(1)


def test_filters_are_in_the_address_and_back_takes_them_away(page: Page, finished_run: str, short_run: str) -> None:
    page.goto(FINISHED_RUNS)
    expect(row(page, finished_run)).to_be_visible()
    page.locator("summary", has_text="State").click()
    page.get_by_label("succeeded").check()
    page.locator("#filter-labels").fill("purpose=short")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(r"state=succeeded.*labels=purpose%3Dshort"))
    expect(row(page, short_run)).to_be_visible()
    expect(row(page, finished_run)).to_have_count(0)
    expect(page.locator("#filter-labels")).to_have_value("purpose=short")
    page.go_back()
    expect(row(page, finished_run)).to_be_visible()
    expect(row(page, short_run)).to_have_count(0)


def test_a_label_that_is_none_is_said_beside_its_field(page: Page, complaints: Complaints) -> None:
    complaints.expect("console: .*422")
    page.goto("/runs?labels=alone")
    expect(page.locator("#filter-labels")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_contain_text("alone is not a label")


def test_runs_are_put_together_by_what_they_share(page: Page, short_run: str, live_run: str) -> None:
    page.goto("/runs?group=problem")
    body = page.locator("tbody", has=row(page, live_run))
    expect(body.locator("tr.group")).to_contain_text("endless")
    expect(row(page, short_run)).to_be_visible()
    expect(body.locator(f"tr[data-row='{short_run}']")).to_have_count(0)


def test_new_runs_are_counted_and_rows_stay_where_they_are(
    page: Page, service: Service, live_run: str, created: list[str]
) -> None:
    page.goto("/runs")
    row(page, live_run).get_by_role("checkbox").check()
    rows = page.locator("tr[data-row]").count()
    created.append(service.submit("endless", evaluations=1_000_000, labels={"purpose": "new"}))
    fresh = page.get_by_role("link", name="+1 new run")
    expect(fresh).to_be_visible()
    expect(page.locator("tr[data-row]")).to_have_count(rows)
    expect(row(page, live_run).get_by_role("checkbox")).to_be_checked()
    fresh.click()
    expect(page.locator("tr[data-row]").first).to_have_attribute("data-row", created[0])


def test_cells_follow_their_run(page: Page, service: Service, live_run: str) -> None:
    page.goto("/runs")
    budget = row(page, live_run).locator("[data-cell=budget]")
    before = str(budget.text_content())
    expect(budget).not_to_have_text(before)
    service.client.post(f"/v1/runs/{live_run}/pause").raise_for_status()
    expect(row(page, live_run).locator("[data-cell=state]")).to_contain_text("paused")


def test_many_are_steered_at_once_and_each_that_fails_is_named(
    page: Page, service: Service, short_run: str, live_run: str, complaints: Complaints
) -> None:
    complaints.expect("console: .*409")
    page.goto("/runs")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    for run_id in (short_run, live_run):
        row(page, run_id).get_by_role("checkbox").check()
    expect(page.get_by_text("2 ticked:")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", name="1 of 2 runs were paused")).to_be_visible()
    failed = page.get_by_role("row", name=re.compile("not paused"))
    expect(failed.get_by_role("link")).to_have_attribute("href", f"/runs/{short_run}")
    assert service.get(f"/v1/runs/{live_run}")["desired_state"] == "paused"


def test_deleting_asks_for_the_number_of_runs(
    open_page: OpenPage, service: Service, short_run: str, complaints: Complaints
) -> None:
    """Also where there is no script."""
    complaints.expect("console: .*422")
    page = open_page("/runs?labels=purpose%3Dshort", javascript=False)
    row(page, short_run).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Delete 1 run?")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="taken")).to_contain_text("<img src=x")
    page.get_by_label("number of runs").fill("2")
    page.get_by_role("button", name="Delete 1 run").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was deleted: type 1")
    assert service.get(f"/v1/runs/{short_run}")["id"] == short_run
    page.get_by_label("number of runs").fill("1")
    page.get_by_role("button", name="Delete 1 run").click()
    expect(page).to_have_url(re.compile(r"/runs\?labels=purpose%3Dshort$"))
    assert service.client.get(f"/v1/runs/{short_run}").status_code == 404


def test_ticked_runs_are_led_to_their_comparison(page: Page, short_run: str, live_run: str) -> None:
    page.goto("/runs")
    for run_id in (short_run, live_run):
        row(page, run_id).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(r"/compare\?"))
    for run_id in (short_run, live_run):
        assert f"run={run_id}" in page.url


def test_a_filter_is_saved_found_again_and_removed(page: Page, finished_run: str) -> None:
    page.goto("/runs?state=succeeded&labels=purpose%3Dtests&group=state")
    saved = page.get_by_role("group").filter(has_text="Save these filters")
    page.get_by_text("Saved filters", exact=True).click()
    saved.get_by_label("Save these filters as").fill(HOSTILE)
    saved.get_by_role("button", name="Save", exact=True).click()
    page.goto("/runs")
    page.get_by_role("navigation", name="Saved filters").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"\?state=succeeded&labels=purpose%3Dtests&group=state$"))
    expect(page).to_have_title("Runs · Evolve")
    expect(row(page, finished_run)).to_be_visible()
    page.get_by_text("Saved filters", exact=True).click()
    page.get_by_role("button", name="Remove <img").click()
    expect(page.get_by_role("navigation", name="Saved filters")).to_have_count(0)


@pytest.mark.parametrize(
    ("form", "leads"), [("/runs/bulk", "/runs"), ("/runs/filters", "/runs"), ("/runs/new/check", "/runs/new")]
)
def test_the_address_of_a_form_leads_to_its_page(page: Page, form: str, leads: str) -> None:
    page.goto(form)
    expect(page).to_have_url(re.compile(f"{leads}$"))


def test_where_no_run_is_like_that_there_is_a_way_on(page: Page) -> None:
    page.goto("/runs?problem=nowhere")
    page.get_by_role("link", name="Show all runs").click()
    expect(page).to_have_url(re.compile("/runs$"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_list_shuts_nobody_out(open_page: OpenPage, short_run: str, theme: Literal["light", "dark"]) -> None:
    page = open_page("/runs?group=problem", theme=theme)
    expect(row(page, short_run)).to_contain_text("<img src=x")
    assert_accessible(page)
    row(page, short_run).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_label("number of runs")).to_be_visible()
    assert_accessible(page)


def test_a_narrow_window_scrolls_the_table_and_not_the_page(open_page: OpenPage, short_run: str) -> None:
    page = open_page("/runs", width=360)
    expect(row(page, short_run)).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_rows_are_put_in_the_order_of_a_column(page: Page, finished_run: str, short_run: str) -> None:
    page.goto("/runs")
    page.get_by_role("columnheader", name="Evaluations").get_by_role("link").click()
    expect(page).to_have_url(re.compile("sort=-budget"))
    counts = [re.match(r"\d+(\s\d{3})*", text) for text in page.locator("[data-cell=budget] small").all_inner_texts()]
    told = [int(re.sub(r"\s", "", found[0])) for found in counts if found]
    assert told == sorted(told, reverse=True)
    assert len(told) >= 2
    page.get_by_role("columnheader", name="Evaluations").get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="Evaluations")).to_have_attribute("aria-sort", "ascending")
    told = [
        int(text.split()[0].replace(",", "")) for text in page.locator("[data-cell=budget] small").all_inner_texts()
    ]
    assert told == sorted(told)


def test_columns_are_chosen_and_stand_in_the_address(page: Page, finished_run: str) -> None:
    page.goto("/runs")
    expect(page.get_by_role("columnheader", name="Rate")).to_have_count(0)
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("Rate", exact=True).check()
    page.get_by_label("Tokens", exact=True).uncheck()
    page.get_by_role("button", name="Show these").click()
    expect(page).to_have_url(re.compile("columns="))
    expect(page.get_by_role("columnheader", name="Rate")).to_have_count(1)
    expect(page.get_by_role("columnheader", name="Tokens")).to_have_count(0)


def test_a_row_has_a_small_curve_and_what_tells_its_run_apart(page: Page, finished_run: str) -> None:
    page.goto(FINISHED_RUNS)
    expect(row(page, finished_run).locator("run-spark path")).to_have_count(1)
    page.goto("/runs")
    names = page.locator(".run-name").all_inner_texts()
    assert len(set(names)) == len(names)
    box = page.locator(".runs-filter").bounding_box()
    assert box is not None
    assert box["height"] <= 120


def test_a_run_is_renamed_and_found_by_its_name(page: Page, service: Service, short_run: str) -> None:
    page.goto(f"/runs/{short_run}")
    page.locator("summary", has_text="Rename").click()
    page.get_by_label("Name", exact=True).fill("A better mousetrap")
    page.get_by_label("Labels", exact=True).fill("purpose=short, team=red")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("h1")).to_contain_text("A better mousetrap")
    assert service.get(f"/v1/runs/{short_run}")["labels"] == {
        "name": "A better mousetrap", "purpose": "short", "team": "red",
    }  # fmt: skip
    page.goto("/workers")
    page.keyboard.press("Control+k")
    page.keyboard.type("mousetrap")
    page.get_by_role("dialog").get_by_role("link", name="A better mousetrap").click()
    expect(page).to_have_url(re.compile(f"/runs/{short_run}"))
    page.keyboard.press("Control+k")
    page.keyboard.type("0.0")
    page.get_by_role("dialog").get_by_role("link", name="Candidate 0.0").click()
    expect(page.locator("h1")).to_contain_text("Candidate 0.0")
    service.client.patch(f"/v1/runs/{short_run}", json={"labels": {"purpose": "short"}}).raise_for_status()


def test_a_fresh_service_offers_examples_of_which_one_begins_in_seconds(
    chromium: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    with installed(tmp_path) as fresh, chromium.new_context(base_url=fresh.url) as context:
        complaints.listen(context)
        page = context.new_page()
        page.goto(fresh.login)
        page.goto("/runs")
        page.get_by_role("button", name="Run Curve").click()
        expect(page).to_have_url(re.compile("/runs/run_"))
        expect(page.get_by_role("region", name="Best candidates").locator("tbody tr").first).to_be_visible(
            timeout=10_000
        )

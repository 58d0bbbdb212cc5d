"""The overview of a run and its controls; the stream that pages live by."""

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service, until

LOST = r"net::ERR_|Failed to (load resource|fetch)|network error"


def test_the_overview_shows_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    run = service.get(f"/v1/runs/{finished_run}")
    page.goto(f"/runs/{finished_run}")
    tiles = page.locator(".tile")
    expect(tiles.filter(has_text="Best fitness").locator("strong")).to_have_text(f"{run['best_fitness']:.5g}")
    expect(tiles.filter(has_text="Evaluated").locator("strong")).to_have_text(str(run["progress"]["evaluated"]))
    fittest = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness&limit=1")["items"][0]
    best = page.get_by_role("region", name="Best candidates").locator("tbody tr").first
    expect(best.get_by_role("link").first).to_have_attribute("href", f"/candidates/{fittest['id']}")


def test_the_overview_groups_failures_by_their_reason(page: Page, service: Service, finished_run: str) -> None:
    found = service.get(f"/v1/runs/{finished_run}/failures")
    page.goto(f"/runs/{finished_run}")
    rows = page.get_by_role("region", name="Why answers failed").locator("tbody tr")
    expect(rows).to_have_count(min(8, len(found["items"])))
    first = found["items"][0]
    expect(rows.first.locator("td").first).to_have_text(f"{first['count']}")
    expect(rows.first).to_contain_text(first["reason"].split("'")[0])
    expect(page.locator("#failures .note")).to_contain_text(f"{found['count']} in all")


def test_the_curve_shows_every_evaluation(page: Page, service: Service, finished_run: str) -> None:
    total = service.get(f"/v1/runs/{finished_run}/columns")["total"]
    page.goto(f"/runs/{finished_run}")
    expect(page.locator("score-curve")).to_have_attribute("data-shown", str(total))
    expect(page.locator("score-curve canvas").first).to_be_visible()


def test_a_chart_is_saved_as_a_picture(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save picture: Score over evaluations").click()
    assert saved.value.suggested_filename == "score-over-evaluations.png"
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")


def test_without_script_the_overview_has_its_tables(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}", javascript=False)
    expect(page.get_by_role("region", name="Best candidates").locator("tbody tr").first).to_be_visible()
    expect(page.locator(".chart .summary")).to_contain_text("The line is the best so far")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_overview_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}", theme=theme)
    expect(page.locator("score-curve canvas").first).to_be_visible()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}", width=360)
    expect(page.locator("score-curve canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_curve_grows_with_the_run(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}")
    curve = page.locator("score-curve")
    expect(curve).to_have_attribute("data-shown", re.compile(r"\d+"))
    shown = int(curve.get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('score-curve').dataset.shown) > seen + 3", arg=shown)


def test_a_stream_that_is_lost_says_so_and_heals(page: Page, complaints: Complaints, live_run: str) -> None:
    complaints.expect(LOST)
    page.goto(f"/runs/{live_run}")
    curve = page.locator("score-curve")
    expect(curve).to_have_attribute("data-shown", re.compile(r"\d+"))
    page.context.set_offline(True)
    # An open connection outlives it: the page is hidden and shown, as when somebody looks elsewhere for a while.
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    banner = page.get_by_role("status").filter(has_text="The connection to the service is lost")
    expect(banner).to_be_visible()
    seen = int(curve.get_attribute("data-shown") or 0)
    page.context.set_offline(False)
    expect(banner).to_be_hidden()
    page.wait_for_function("seen => Number(document.querySelector('score-curve').dataset.shown) > seen", arg=seen)


def test_an_opened_form_stays_open_while_the_page_updates_itself(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}")
    page.get_by_text("Extend budget", exact=True).click()
    page.locator("#extend-evaluations").fill("12")
    with page.expect_response(re.compile("/head$")):
        page.evaluate("document.dispatchEvent(new CustomEvent('evolve:state'))")
    page.wait_for_timeout(300)
    expect(page.locator("#extend-evaluations")).to_be_visible()
    expect(page.locator("#extend-evaluations")).to_have_value("12")


def test_a_run_is_paused_resumed_extended_and_cancelled(page: Page, service: Service, live_run: str) -> None:
    page.goto(f"/runs/{live_run}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1 .state")).to_have_text("paused")
    page.get_by_text("Extend budget", exact=True).click()
    page.locator("#extend-evaluations").fill("2000000")
    page.get_by_role("button", name="Extend").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1 .state")).to_have_text("running")
    until(lambda: service.get(f"/v1/runs/{live_run}")["progress"]["budget"] == 2_000_000)
    page.locator("summary", has_text="Cancel").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator("h1 .state")).to_have_text("cancelled")


def test_a_run_that_has_ended_is_continued_with_a_larger_budget(
    page: Page, service: Service, finished_run: str
) -> None:
    del finished_run  # its problem is there
    run_id = service.submit("landscape", evaluations=8)
    ended = service.end(run_id)
    page.goto(f"/runs/{run_id}")
    expect(page.locator("h1 .state")).to_have_text("succeeded")
    expect(page.locator("score-curve")).to_have_attribute("data-shown", re.compile(r"\d+"))
    page.get_by_text("Extend budget", exact=True).click()
    page.locator("#extend-evaluations").fill("20")
    page.get_by_role("button", name="Extend").click()
    until(lambda: service.get(f"/v1/runs/{run_id}")["progress"]["evaluated"] == 20)
    again = service.end(run_id)
    assert (again["state"], again["progress"]["budget"]) == ("succeeded", 20)
    assert again["sequence"] > ended["sequence"]
    page.goto(f"/runs/{run_id}")
    expect(page.locator("h1 .state")).to_have_text("succeeded")
    expect(page.locator(".tile").filter(has_text="Evaluated").locator("strong")).to_have_text("20")
    expect(page.locator("score-curve")).to_have_attribute("data-shown", "20")
    page.goto(f"/runs/{run_id}/events")
    expect(page.locator("main")).to_contain_text("run.continued")


def test_a_budget_that_is_none_is_refused_with_a_sentence(page: Page, complaints: Complaints, live_run: str) -> None:
    complaints.expect("422")
    page.goto(f"/runs/{live_run}")
    page.get_by_text("Extend budget", exact=True).click()
    page.locator("#extend-evaluations").fill("many")
    page.get_by_role("button", name="Extend").click()
    expect(page.get_by_role("alert")).to_contain_text("evaluations: 'many' is not a number")


def test_a_run_is_deleted_only_by_its_name(
    page: Page, complaints: Complaints, service: Service, finished_run: str
) -> None:
    del finished_run  # its problem is there
    run_id = service.submit("landscape", evaluations=5, labels={"name": "to be  deleted "})
    service.end(run_id)
    complaints.expect("422")
    page.goto(f"/runs/{run_id}")
    page.locator("summary", has_text="Delete").click()
    page.get_by_label("Type to be deleted to confirm").fill("something else")
    page.get_by_role("button", name="Delete the run").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was deleted")
    page.goto(f"/runs/{run_id}")
    page.locator("summary", has_text="Delete").click()
    page.get_by_label("Type to be deleted to confirm").fill("to be deleted")
    page.get_by_role("button", name="Delete the run").click()
    page.wait_for_url("**/runs")
    assert service.client.get(f"/v1/runs/{run_id}").status_code == 404


def test_a_form_without_its_token_does_nothing(page: Page, live_run: str) -> None:
    answer = page.request.post(f"/runs/{live_run}/cancel", form={"csrf": "another's"})
    assert answer.status == 403
    assert page.request.get(f"/v1/runs/{live_run}").json()["state"] == "running"


def test_the_story_of_the_best_tells_its_jumps_biggest_first(page: Page, service: Service, finished_run: str) -> None:
    run = service.get(f"/v1/runs/{finished_run}")
    line = service.get(f"/v1/candidates/{run['best_candidate_id']}/lineage")["items"][::-1]
    gains = sorted(
        (after["fitness"] - before["fitness"], after["name"])
        for before, after in itertools.pairwise(line)
        if after["fitness"] > before["fitness"]
    )[::-1]
    page.goto(f"/runs/{finished_run}")
    jumps = page.locator(".jumps > li")
    expect(jumps.first).to_be_visible()  # a busy service shows the head of the page first
    assert [jump.locator("p a.id").nth(1).inner_text() for jump in jumps.all()] == [name for _, name in gains[:3]]
    expect(jumps.first).to_contain_text(
        re.compile("Only constants moved|The code changed, its|Code and constants changed")
    )
    expect(jumps.first.locator("blockquote")).not_to_be_empty()
    expect(jumps.first.locator("tr.added").first).to_be_visible()


def test_a_run_is_paused_from_where_one_is(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/lineage?x=evaluation")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1 .state")).to_have_text(re.compile("paus"))
    expect(page).to_have_url(re.compile(f"/runs/{live_run}/lineage"))

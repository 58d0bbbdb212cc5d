"""The log of a run, and how it grows under somebody's eyes."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from evolve.identity import candidate_name
from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Events").locator("tbody tr")


def sequences(page: Page) -> list[int]:
    return [int(text) for text in rows(page).locator("td:first-child").all_inner_texts()]


def test_pages_show_the_whole_log_in_order(page: Page, service: Service, finished_run: str) -> None:
    last = service.get(f"/v1/runs/{finished_run}")["sequence"]
    page.goto(f"/runs/{finished_run}/events")
    seen = sequences(page)
    while page.get_by_role("link", name="Later", exact=True).count():
        page.get_by_role("link", name="Later", exact=True).click()
        page.wait_for_url(re.compile(rf"after={seen[-1]}$"))
        seen += sequences(page)
    assert seen == list(range(1, last + 1))
    page.get_by_role("link", name="Earlier").click()
    expect(rows(page).last).not_to_have_attribute("id", f"event-{last}")


def test_kinds_islands_and_programs_narrow_it_down(page: Page, service: Service, finished_run: str) -> None:
    told = service.get(f"/v1/runs/{finished_run}/events?kinds=best.improved&limit=200")["items"]
    page.goto(f"/runs/{finished_run}/events")
    page.get_by_text("Kinds: all").click()
    page.get_by_label("best.improved").check()
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/events?kind=best.improved*")
    assert sequences(page) == [event["sequence"] for event in told]
    best = told[-1]["candidate_id"]
    page.get_by_label("Candidate", exact=True).fill(candidate_name(best))
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(f"**candidate={candidate_name(best)}*")
    assert sequences(page) == [event["sequence"] for event in told if event["candidate_id"] == best]
    page.goto(f"/runs/{finished_run}/events?kind=island.migrated&island=2")
    moved = service.get(f"/v1/runs/{finished_run}/events?kinds=island.migrated&limit=200")["items"]
    assert sequences(page) == [event["sequence"] for event in moved if 2 in (event["from"], event["to"])]


def test_events_lead_to_what_they_name(page: Page, service: Service, finished_run: str) -> None:
    event = service.get(f"/v1/runs/{finished_run}/events?kinds=candidate.created&limit=200")["items"][-1]
    page.goto(f"/runs/{finished_run}/events?kind=candidate.created&after={event['sequence'] - 1}")
    row = page.locator(f"#event-{event['sequence']}")
    expect(row.locator(f"a[href='/candidates/{event['candidate_id']}']")).to_be_visible()
    expect(row.locator(f"a[href='/runs/{finished_run}/proposals/{event['proposal_number']}']")).to_be_visible()
    row.get_by_text("JSON").click()
    expect(row.locator("pre")).to_contain_text(f'"fingerprint": "{event["fingerprint"]}"')


def test_new_events_come_at_the_end_until_somebody_pauses(page: Page, service: Service, live_run: str) -> None:
    begin = service.get(f"/v1/runs/{live_run}")["sequence"]
    page.goto(f"/runs/{live_run}/events?after={max(0, begin - 20)}")
    first = rows(page).first.get_attribute("id")
    page.wait_for_function(
        "begin => Number(document.querySelector('#events tbody tr:last-child').id.slice(6)) > begin + 15", arg=begin
    )
    button = page.get_by_role("button", name="Following")
    button.click()
    paused = page.get_by_role("button", name=re.compile(r"^Paused: follow \(\+\d+"))
    expect(paused).to_be_visible()
    shown = sequences(page)
    assert shown == list(range(shown[0], shown[-1] + 1))
    expect(rows(page).first).to_have_attribute("id", first or "")
    expect(paused).not_to_have_text(paused.inner_text())
    assert sequences(page) == shown
    paused.click()
    expect(page.locator(f"#event-{shown[-1] + 5}")).to_be_visible()


HOLD_THE_NEXT = """() => {
    const real = window.fetch;
    window.fetch = async (...asked) => {
        const answer = await real(...asked);
        const first = String(asked[0]).includes("/events/rows?") && !window.letGo;
        if (first) await new Promise((done) => { window.letGo = done; });
        return answer;
    };
}"""


def test_what_was_asked_for_before_a_pause_is_not_shown_after_it(page: Page, service: Service, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/events?after={service.get(f'/v1/runs/{live_run}')['sequence'] - 1}")
    page.evaluate(HOLD_THE_NEXT)
    page.wait_for_function("() => window.letGo")
    page.get_by_role("button", name="Following").click()
    paused = page.get_by_role("button", name=re.compile(r"^Paused: follow \(\+\d+"))
    expect(paused).to_be_visible()
    shown = sequences(page)
    page.evaluate("() => window.letGo()")
    expect(paused).not_to_have_text(paused.inner_text())
    assert sequences(page) == shown
    paused.click()
    expect(page.locator(f"#event-{shown[-1] + 5}")).to_be_visible()
    grown = sequences(page)
    assert grown == list(range(shown[0], grown[-1] + 1))


def test_what_is_no_filter_is_told_on_a_page(page: Page, complaints: Complaints, finished_run: str) -> None:
    complaints.expect("console: .*422")
    answer = page.goto(f"/runs/{finished_run}/events?kind=run.exploded")
    assert answer
    assert answer.status == 422
    expect(page.get_by_role("alert")).to_contain_text("no events of kind")


def test_without_script_the_log_is_there_and_can_be_taken_away(
    open_page: OpenPage, service: Service, finished_run: str
) -> None:
    page = open_page(f"/runs/{finished_run}/events", javascript=False)
    expect(rows(page).first).to_be_visible()
    address = page.get_by_role("link", name="Download the log").get_attribute("href") or ""
    lines = service.client.get(address).raise_for_status().text.splitlines()
    assert len(lines) == service.get(f"/v1/runs/{finished_run}")["sequence"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}/events?kind=candidate.created", theme=theme)
    rows(page).first.get_by_text("JSON").click()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/events?kind=candidate.created", width=360)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

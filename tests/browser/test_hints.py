"""Hints to a run at work, given on its page."""

from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.installation import Service, until

HOSTILE = "<script>throw new Error('a hint was run')</script>try rings"


def test_a_hint_is_given_on_the_page_and_shown_with_what_it_brought(
    page: Page, service: Service, live_run: str
) -> None:
    page.goto(f"/runs/{live_run}")
    page.get_by_text("Give a hint").click()
    page.get_by_label("What to try next").fill(HOSTILE)
    page.get_by_label("In the prompts of so many proposals").fill("3")
    assert_accessible(page, within="#hint-form")
    page.get_by_role("button", name="Give the hint").click()
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row.get_by_role("rowheader")).to_have_text(f"Hint: {HOSTILE}")
    until(lambda: service.get(f"/v1/runs/{live_run}/changes")["items"][0]["proposals"] == 3)
    expect(row.get_by_role("cell", name="3 of 3")).to_be_visible()
    [given] = service.get(f"/v1/runs/{live_run}/events?kinds=hint.given&limit=1")["items"]
    assert (given["text"], given["proposals"]) == (HOSTILE, 3)


def test_an_ended_run_offers_no_hint(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    expect(page.get_by_text("Give a hint")).to_have_count(0)

"""Answers of a run: which its candidates agree on, whatever they hold."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def test_answers_stand_with_votes_and_best_candidates(page: Page, service: Service, answering_run: str) -> None:
    told = service.get(f"/v1/runs/{answering_run}/votes")
    assert told["answers"] > 1
    page.goto(f"/runs/{answering_run}/metrics")
    rows = page.get_by_role("region", name="Answers of the candidates").locator("tbody tr")
    expect(rows).to_have_count(told["answers"])
    expect(rows.first.locator("td").first).to_have_text(str(told["items"][0]["votes"]))
    rows.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/candidates/{told['items'][0]['best_candidate_id']}$"))
    expect(page.locator("#candidate-head")).to_contain_text("It answers:")


def test_the_rule_is_in_the_address_and_needs_no_script(
    open_page: OpenPage, service: Service, answering_run: str
) -> None:
    page = open_page(f"/runs/{answering_run}/metrics", javascript=False)
    page.get_by_label("Rule").select_option("best_of_majority")
    page.get_by_label("Minimum share").fill("0.01")
    page.get_by_role("button", name="Count").click()
    expect(page).to_have_url(re.compile("rule=best_of_majority&min_share=0.01"))
    told = service.get(f"/v1/runs/{answering_run}/votes?rule=best_of_majority&min_share=0.01")
    best = told["winner"]["best_candidate_id"]
    expect(
        page.get_by_role("region", name="Answers of the candidates").locator("tbody tr").first.get_by_role("link")
    ).to_have_attribute("href", f"/candidates/{best}")
    page.goto(f"/runs/{answering_run}/metrics?rule=best_of_majority&min_share=1")
    expect(page.locator("#answers")).to_contain_text("no answer wins: none has 100")


def test_hostile_answers_are_shown_as_text(open_page: OpenPage, answering_run: str) -> None:
    page = open_page(f"/runs/{answering_run}/metrics", width=400)
    hostile.assert_harmless(page)
    expect(page.locator("#answers")).to_contain_text("<script>document.title")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_run_without_answers_shows_nothing_of_them(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/metrics")
    expect(page.get_by_role("heading", name="What the numbers mean")).to_be_visible()
    expect(page.locator("#answers")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_answers_shut_nobody_out(open_page: OpenPage, answering_run: str, theme: str) -> None:
    page = open_page(f"/runs/{answering_run}/metrics", theme=theme)
    expect(page.locator("#answers")).to_be_visible()
    assert_accessible(page)

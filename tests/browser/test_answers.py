"""Answers of a run: which its candidates agree on, whatever they hold."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import PROBLEM, PROGRAM, Service

ANSWERING = """
HOSTILE = {hostile!r}

def score(outputs, program):
    value = float(outputs[0]["value"] or 0.0) if outputs[0]["error"] is None else 0.0
    text = "".join(program.values())
    value = max(-10, min(30, value))
    answer = HOSTILE + " " + "long" * 100 if value < 3.5 else [round(value)]
    return {{"value": value, "length": min(len(text), 200), "digits": 1, "answer": answer}}
"""


@pytest.fixture(scope="module")
def answering_run(service: Service) -> str:
    """The id of a run that has ended, of programs that answer a number or what no page may run."""
    evaluator = ANSWERING.format(hostile=hostile.SCRIPT + hostile.UNSEEN)
    files = {"problem.toml": PROBLEM.format(name="answering"), "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("answering", evaluations=30)
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


def test_answers_stand_with_votes_and_best_candidates(page: Page, service: Service, answering_run: str) -> None:
    told = service.get(f"/v1/runs/{answering_run}/votes")
    assert told["answers"] > 1
    page.goto(f"/runs/{answering_run}/metrics")
    rows = page.get_by_role("region", name="What the programs answer").locator("tbody tr")
    expect(rows).to_have_count(told["answers"])
    expect(rows.first.locator("td").first).to_have_text(str(told["items"][0]["votes"]))
    rows.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/programs/{told['items'][0]['best_program_id']}$"))
    expect(page.locator("#program-head")).to_contain_text("It answers:")


def test_the_rule_is_in_the_address_and_needs_no_script(
    open_page: OpenPage, service: Service, answering_run: str
) -> None:
    page = open_page(f"/runs/{answering_run}/metrics", javascript=False)
    page.get_by_label("Rule").select_option("best_of_majority")
    page.get_by_label("Least share").fill("0.01")
    page.get_by_role("button", name="Count").click()
    expect(page).to_have_url(re.compile("rule=best_of_majority&least_share=0.01"))
    told = service.get(f"/v1/runs/{answering_run}/votes?rule=best_of_majority&least_share=0.01")
    best = told["winner"]["best_program_id"]
    expect(
        page.get_by_role("region", name="What the programs answer").locator("tbody tr").first.get_by_role("link")
    ).to_have_attribute("href", f"/programs/{best}")
    page.goto(f"/runs/{answering_run}/metrics?rule=best_of_majority&least_share=1")
    expect(page.locator("#answers")).to_contain_text("No answer has 100")


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

"""The chains of a run: what a policy was asked, and what it answered."""

import re

import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number
from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service


@pytest.fixture(scope="module")
def chained_run(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a run by a model that writes several answers, and hostile words around them."""
    return hostile.answered(installation, tmp_path_factory.mktemp("hostile"))


def test_proposals_are_listed_by_their_state(page: Page, service: Service, chained_run: str) -> None:
    page.goto(f"/runs/{chained_run}/proposals")
    page.get_by_label("State").select_option("answered")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("state=answered"))
    told = service.get(f"/v1/runs/{chained_run}/proposals?state=answered")["items"]
    assert page.locator("main tbody td:first-child").all_text_contents() == [str(one["number"]) for one in told]
    page.get_by_label("State").select_option("failed")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No proposal is failed")).to_be_visible()


def test_answers_stand_side_by_side_with_their_rewards(page: Page, service: Service, chained_run: str) -> None:
    page.goto(f"/runs/{chained_run}/proposals")
    page.locator("main tbody a").first.click()
    expect(page).to_have_url(re.compile("/proposals/1$"))
    answers = service.get(f"/v1/runs/{chained_run}/candidates?proposal_number=1")["items"]
    assert len(answers) > 1
    table = page.get_by_role("region", name="Answers side by side")
    expect(table.locator("thead th")).to_have_count(len(answers))
    for at, name in enumerate(("value", "length")):
        row = table.locator("tr", has=page.locator("th", has_text=f"Reward: {name}"))
        rewards = [one["rewards"][at] if one["rewards"] else None for one in answers]
        assert row.locator("td").all_text_contents() == [str(number(reward)) for reward in rewards]


def test_answers_side_by_side_stay_low_on_a_phone(open_page: OpenPage, chained_run: str) -> None:
    page = open_page(f"/runs/{chained_run}/proposals/1", width=390)
    table = page.get_by_role("region", name="Answers side by side")
    cell = table.locator("tr", has=page.locator("th", has_text="Outcome")).locator("td").first
    cell.evaluate(
        """(cell, words) => {
          cell.querySelector("small")?.remove();
          const reason = cell.appendChild(document.createElement("small"));
          reason.className = "why";
          reason.textContent = words;
        }""",
        ("the program returned a list of numbers that are no packing " * 3)[:160],
    )
    heights = table.locator("tbody tr").evaluate_all("rows => rows.map((row) => row.getBoundingClientRect().height)")
    assert max(heights) <= 130
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_weights_tokens_and_what_was_dropped_are_told(page: Page, service: Service, chained_run: str) -> None:
    told = service.get(f"/v1/runs/{chained_run}/proposals/1")
    page.goto(f"/runs/{chained_run}/proposals/1")
    weights = page.get_by_role("region", name="Weights drawn").locator("tbody td:nth-child(2)")
    assert weights.all_text_contents() == [number(weight, 3) for weight in told["weights"]]
    expect(page.locator(".tile", has_text="Tokens out").locator("strong")).to_have_text(number(told["tokens_output"]))
    assert told["dropped"]
    for dropped in told["dropped"]:
        expect(page.locator("main ul", has_text=dropped["reason"])).to_be_visible()


def test_hostile_prompts_and_replies_are_shown_as_text(open_page: OpenPage, chained_run: str) -> None:
    page = open_page(f"/runs/{chained_run}/proposals/1", width=400)
    hostile.assert_harmless(page)
    for place in ("#prompt", "#reply"):
        expect(page.locator(place)).to_contain_text(hostile.SCRIPT)
    for words in hostile.SHOWN:
        expect(page.locator("#reply")).to_contain_text(words)


def test_prompt_and_reply_are_there_without_script(open_page: OpenPage, service: Service, chained_run: str) -> None:
    told = service.get(f"/v1/runs/{chained_run}/proposals/1")
    page = open_page(f"/runs/{chained_run}/proposals/1", javascript=False)
    expect(page.locator("#prompt pre")).to_have_count(len(told["prompt"]))
    expect(page.locator("#reply pre")).to_have_count(len(told["completions"]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chains_shut_nobody_out(open_page: OpenPage, chained_run: str, theme: str) -> None:
    assert_accessible(open_page(f"/runs/{chained_run}/proposals", theme=theme))
    assert_accessible(open_page(f"/runs/{chained_run}/proposals/1", theme=theme))

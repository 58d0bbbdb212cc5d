"""The page Setup, and the tabs it stands among."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import EVALUATOR, Service


def test_the_setup_says_what_was_asked_for(page: Page, service: Service, finished_run: str) -> None:
    run = service.get(f"/v1/runs/{finished_run}")
    page.goto(f"/runs/{finished_run}")
    page.get_by_role("group", name="Search").get_by_role("link", name="Setup").click()
    expect(page.locator(".description")).to_have_text("A large value from a short candidate, <b>as text</b>.")
    objectives = page.get_by_role("region", name="Objectives").locator("tbody tr")
    assert [row.locator("th, td").all_text_contents()[:4] for row in objectives.all()] == [
        ["value", "maximize", "-10", "30"],
        ["length", "minimize", "0", "200"],
    ]
    expect(page.locator("#files")).to_contain_text("a value that cannot be scored")
    assert "a value that cannot be scored" in EVALUATOR
    expect(page.get_by_role("row", name="Random seed")).to_contain_text(str(run["seed"]))
    expect(page.get_by_role("row", name=re.compile("^Kind"))).to_contain_text(run["policies"][0]["kind"])


def test_the_configuration_is_a_difference_from_the_defaults(page: Page, service: Service, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/setup")
    rows = page.get_by_role("region", name="Configuration").locator("tbody tr")
    told = {row.locator("th").inner_text(): row.locator("td").all_text_contents() for row in rows.all()}
    config = service.get(f"/v1/runs/{finished_run}")["config"]
    assert told["migration_interval"][0] == str(config["migration_interval"]) == "6"
    assert told["budget.evaluations"][0] == "120"
    assert all(value != default for value, default, *_ in told.values())
    assert told["reset_after"][2] == "run"
    assert "archive.kind" not in told


def test_a_run_is_cloned_with_changes(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/setup")
    page.get_by_role("link", name="Clone with changes").click()
    expect(page.locator("[name='budget.evaluations']")).to_have_value("120")


def test_every_tab_has_a_title_of_its_own_in_one_of_four_groups(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    groups = page.locator("nav.tabs").get_by_role("group")
    assert [group.get_attribute("aria-label") for group in groups.all()] == ["Result", "Search", "Model", "Log"]
    titles = []
    for address in [str(tab.get_attribute("href")) for tab in page.locator("nav.tabs a").all()]:
        page.goto(address)
        titles.append(page.title())
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_setup_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"]) -> None:
    page = open_page(f"/runs/{finished_run}/setup", theme=theme)
    assert_accessible(page)


def test_the_head_is_compact_on_a_phone(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}", width=390)
    box = page.locator("nav.tabs").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 300
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

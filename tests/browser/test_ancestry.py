"""The ancestry of a candidate."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


@pytest.fixture(scope="module")
def line(service: Service, finished_run: str) -> list[dict[str, Any]]:
    """The longest line of parents of the run, from its seed."""
    last = service.get(f"/v1/runs/{finished_run}/candidates?limit=200")["items"][-20:]
    lines: list[list[dict[str, Any]]] = [
        service.get(f"/v1/candidates/{one['id']}/lineage")["items"][::-1] for one in last
    ]
    found = max(lines, key=len)
    assert len(found) > 2
    return found


def test_the_story_goes_from_the_seed_to_the_program(page: Page, line: list[dict[str, Any]]) -> None:
    page.goto(f"/candidates/{line[-1]['id']}/ancestry")
    steps = page.locator(".story > li")
    assert steps.locator("a.id:first-child").all_text_contents() == [one["name"] for one in line]
    assert steps.locator(":scope > strong").all_text_contents() == [number(one["fitness"]) for one in line]


def test_a_step_tells_what_was_changed_for_it(page: Page, service: Service, line: list[dict[str, Any]]) -> None:
    diff = service.get(f"/v1/candidates/{line[-1]['id']}/diff")
    page.goto(f"/candidates/{line[-1]['id']}/ancestry")
    step = page.locator(".story > li").last
    step.locator("summary").first.click()
    expect(step.locator("summary").first).to_have_text(f"+{diff['added']} −{diff['removed']} lines")
    expect(step.locator("tr.added")).to_have_count(diff["added"])
    expect(step.locator("tr.removed")).to_have_count(diff["removed"])


def test_the_tree_shows_everybody_and_its_lines_lead_to_differences(page: Page, line: list[dict[str, Any]]) -> None:
    page.goto(f"/candidates/{line[-1]['id']}/ancestry?show=family")
    tree, rows = page.locator("candidate-tree"), page.locator("#family tbody tr")
    expect(tree.locator("path.node")).to_have_count(rows.count())
    edges = page.locator("#family tbody td:last-child a").count()
    expect(tree.locator("path.edge")).to_have_count(edges)
    expect(tree.locator("circle.here")).to_have_count(1)
    expect(tree.locator("a", has=page.locator("circle.here")).locator("title")).to_contain_text(
        f", fitness {number(line[-1]['fitness'])}"  # of two objectives
    )
    tree.locator("a", has=page.locator("path.edge")).first.dispatch_event("click")
    expect(page).to_have_url(re.compile(r"/candidates/cnd_\w+\?against=cnd_\w+#diff"))


def test_a_seed_shows_what_came_of_it(page: Page, service: Service, line: list[dict[str, Any]]) -> None:
    below = service.get(f"/v1/candidates/{line[0]['id']}/lineage?direction=descendants&limit=200")["items"]
    page.goto(f"/candidates/{line[0]['id']}/ancestry")
    expect(page.locator("candidate-tree path.node")).to_have_count(len(below) + 1)


def test_table_and_story_are_there_without_script(open_page: OpenPage, line: list[dict[str, Any]]) -> None:
    page = open_page(f"/candidates/{line[-1]['id']}/ancestry", javascript=False)
    expect(page.locator(".story > li")).to_have_count(len(line))
    page.get_by_text("The family as a table").click()
    expect(page.locator("#family tbody tr").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ancestry_shuts_nobody_out(open_page: OpenPage, line: list[dict[str, Any]], theme: str) -> None:
    page = open_page(f"/candidates/{line[-1]['id']}/ancestry?show=family", theme=theme)
    expect(page.locator("candidate-tree path.node")).not_to_have_count(0)
    for summary in page.locator("main summary").all()[:3]:
        summary.click()
    assert_accessible(page)

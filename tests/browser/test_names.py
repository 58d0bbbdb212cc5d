"""A candidate has one name, and a run is found by the beginning of its id."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.complaints import Complaints
from tests.browser.installation import Service


def names_of(page: Page, candidate: str) -> set[str]:
    """What the links to a candidate are called."""
    links = page.locator(f"main a[href='/candidates/{candidate}']")
    expect(links.first).to_be_attached()
    return {text.strip() for text in links.all_text_contents()}


def test_every_page_calls_the_best_candidate_by_one_name(page: Page, service: Service, finished_run: str) -> None:
    best = service.get(f"/v1/runs/{finished_run}")["best_candidate_id"]
    name = service.get(f"/v1/candidates/{best}")["name"]
    proposal = name.partition(".")[0]
    for place in ("", "/candidates?order=fitness", "/lineage", f"/proposals/{proposal}"):
        page.goto(f"/runs/{finished_run}{place}")
        assert names_of(page, best) == {name}, place
    # Of equals the newest holds a place in an archive: it need not be the best of the run.
    islands = service.get(f"/v1/runs/{finished_run}/islands")["items"]
    cells = service.get(f"/v1/runs/{finished_run}/grid")["cells"]
    fittest = {"islands": [island["best_candidate_id"] for island in islands], "grid": [cells[0]["candidate_id"]]}
    for place, candidates in fittest.items():
        page.goto(f"/runs/{finished_run}/{place}")
        for candidate in candidates:
            assert names_of(page, candidate) == {service.get(f"/v1/candidates/{candidate}")["name"]}, place
    page.goto(f"/candidates/{best}/ancestry")
    expect(page.locator("h1")).to_contain_text(f"Ancestry of {name}")


@pytest.mark.parametrize("beginning", ["run", "short", "bare"])
def test_an_address_takes_the_beginning_of_an_id_and_a_name(
    page: Page, service: Service, finished_run: str, beginning: str
) -> None:
    run = {"run": finished_run, "short": finished_run[:17], "bare": finished_run[4:17]}[beginning]
    page.goto(f"/runs/{run}/candidates/0.0")
    expect(page.locator("h1")).to_contain_text("Candidate 0.0")
    page.goto(f"/runs/{run}")
    expect(page.locator("#run-head code.id")).to_have_text(finished_run[:17])


def test_a_beginning_of_several_ids_is_a_question(
    page: Page, service: Service, finished_run: str, complaints: Complaints
) -> None:
    complaints.expect("console: .*404")
    service.submit("landscape", evaluations=3)
    page.goto(f"/runs/{finished_run[:9]}")
    expect(page.get_by_role("heading", name="Which one?")).to_be_visible()
    page.locator(f"main a[href='/runs/{finished_run}']").click()
    expect(page).to_have_url(re.compile(finished_run))

"""Views that are drawn on demand: a visit or a click has one drawn, and the page shows it when it is there."""

from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import delete, insert, select

from service.db.account_models import ViewRequestRow
from service.db.engine import Database, open_database
from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import PROBLEM, PROGRAM, Installation, Service, until
from tests.browser.test_views import FOREIGN, TAKE_OVER, is_refusal
from tests.patience import PATIENCE_SECONDS

NAME = "rendered"
# It draws an SVG, or a page that tries to do harm, by the length of the program; a negative value has no picture.
RENDERING = f"""
PAGE = {f'<h1>A page</h1><script>{TAKE_OVER}</script><img src="{FOREIGN}/image">'!r}

def score(outputs, program):
    if outputs[0]["error"]:
        return {{"error": outputs[0]["error"]}}
    value = max(-10, min(30, float(outputs[0]["value"])))
    text = "".join(program.values())
    return {{"value": value, "length": min(len(text), 200), "digits": 1}}

def render(outputs):
    value = float(outputs[0]["value"])
    if value < 2:
        return PAGE
    return f'<svg viewBox="0 0 40 40"><circle cx="20" cy="20" r="{{abs(value) % 20}}"/></svg>'
"""
PATIENCE_MS = 1000 * PATIENCE_SECONDS
LONG_AGO, IN_A_CENTURY = datetime(2026, 1, 1, tzinfo=UTC), datetime(2126, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def rendered_run(service: Service) -> str:
    """The id of a run that has ended, whose views are drawn on demand."""
    files = {"problem.toml": PROBLEM.format(name=NAME), "program.py": PROGRAM, "evaluator.py": RENDERING}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit(NAME, evaluations=40)
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


def undrawn(service: Service, run_id: str, *, page: bool = False) -> dict[str, Any]:
    """A candidate whose view nobody has drawn: an image, or a page."""
    items = service.get(f"/v1/runs/{run_id}/candidates?order=fitness&limit=100")["items"]
    fitting = (one for one in items if one["view_on_demand"] and (one["scores"]["value"] < 2) == page)
    found: dict[str, Any] = next(fitting)
    return found


def test_a_visit_has_the_view_drawn(page: Page, service: Service, rendered_run: str) -> None:
    candidate = undrawn(service, rendered_run)["id"]
    page.goto(f"/candidates/{candidate}")
    image = page.locator("#candidate-view img.view")
    expect(image).to_be_visible(timeout=PATIENCE_MS)
    assert image.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 0
    assert service.get(f"/v1/candidates/{candidate}/drawing")["state"] == "drawn"


def test_a_click_has_the_view_drawn_without_script(open_page: OpenPage, service: Service, rendered_run: str) -> None:
    candidate = undrawn(service, rendered_run)["id"]
    page = open_page(f"/candidates/{candidate}", javascript=False)
    page.get_by_role("button", name="Draw the view").click()
    image = page.locator("#candidate-view img.view")
    for _ in range(int(PATIENCE_SECONDS)):
        if image.count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    expect(image).to_be_visible()


def test_a_hostile_page_of_render_stands_in_a_frame_without_rights(
    page: Page, complaints: Complaints, service: Service, rendered_run: str
) -> None:
    page.goto(f"/candidates/{undrawn(service, rendered_run, page=True)['id']}")
    frame = page.locator("#candidate-view iframe")
    expect(frame).to_have_attribute("sandbox", "", timeout=PATIENCE_MS)
    expect(page.frame_locator("#candidate-view iframe").get_by_role("heading")).to_have_text("A page")
    page.wait_for_timeout(500)
    assert page.title() != "taken over"
    assert [one for one in complaints.heard if not is_refusal(one)] == []
    complaints.heard.clear()


def test_thumbnails_are_drawn_when_they_come_into_sight(page: Page, service: Service, rendered_run: str) -> None:
    page.goto(f"/runs/{rendered_run}/candidates?order=fitness")
    expect(page.get_by_role("columnheader", name="View")).to_be_visible()
    expect(page.locator("#candidates .thumbnail img").first).to_be_visible(timeout=PATIENCE_MS)
    rows = page.locator("#candidates tbody tr")
    expect(rows.first.locator(".thumbnail img")).to_be_visible(timeout=PATIENCE_MS)


def test_the_inspector_draws(page: Page, service: Service, rendered_run: str) -> None:
    candidate = undrawn(service, rendered_run)
    page.goto(f"/runs/{rendered_run}/lineage?inspect={candidate['name']}")
    expect(page.locator("candidate-inspector img.view")).to_be_visible(timeout=PATIENCE_MS)


def wanted(database: Database) -> list[str]:
    """The candidates whose views wait to be drawn."""
    with database.read() as connection:
        return list(connection.execute(select(ViewRequestRow.candidate_id)).scalars())


def test_a_page_that_waits_says_why(
    page: Page, installation: Installation, service: Service, rendered_run: str
) -> None:
    words = "No worker takes evaluations of pool cpu."
    opened = open_database(installation.evolve.url)
    until(lambda: not wanted(opened))  # by the pages before
    candidate = undrawn(service, rendered_run)
    asked = {"run_id": rendered_run, "candidate_id": candidate["id"], "requested_by": "ada", "created_at": LONG_AGO}
    with opened.write() as connection:
        connection.execute(insert(ViewRequestRow), [asked | {"due_at": IN_A_CENTURY, "tries": 1, "reason": words}])
    try:
        page.goto(f"/candidates/{candidate['id']}")
        expect(page.locator("#candidate-view")).to_contain_text(words, timeout=PATIENCE_MS)
        assert_accessible(page)
    finally:
        with opened.write() as connection:
            connection.execute(delete(ViewRequestRow).where(ViewRequestRow.candidate_id == candidate["id"]))
        opened.close()

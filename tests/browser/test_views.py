"""Views of candidates: shown where people look for them, and without any right, whatever an evaluator draws."""

import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from evolve.views.candidate_view import HTML, PNG, SVG, CandidateView
from service.db.engine import open_database
from service.db.models import CandidateViewRow
from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import PROBLEM, PROGRAM, Installation, Service
from tests.unit.views.drawings import address, bomb, png

NAME = "drawn"
FOREIGN = "http://elsewhere.invalid"  # becomes the address of a server that hears who asks
# One that draws by the digits of its value: an SVG, a page, a plot, or what cannot be shown.
DRAWING = """
def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    value = max(-10, min(30, float(outputs[0]["value"])))
    views = (
        f'<svg viewBox="0 0 40 40"><circle cx="20" cy="20" r="{abs(value) % 20}"/></svg>',
        f"<h1>Value {value}</h1>",
        {"y": [0, value]},
        "no picture",
    )
    text = "".join(program.values())
    return {"value": value, "length": min(len(text), 200), "digits": 1, "view": views[len(text) % 4]}
"""
TAKE_OVER = (
    "window.top.document.title = 'taken over'; parent.document.title = 'taken over';"
    f" fetch('{FOREIGN}/script'); new Image().src = '{FOREIGN}/image'; top.location = '{FOREIGN}/top'"
)
HOSTILE = {
    "script in an SVG": CandidateView(
        media_type=SVG,
        content='<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60" onload="'
        + TAKE_OVER.replace('"', "'")
        + f'"><script>{TAKE_OVER}</script><image href="{FOREIGN}/svg-image" width="9" height="9"/>'
        f'<foreignObject width="50" height="50"><iframe xmlns="http://www.w3.org/1999/xhtml" src="{FOREIGN}/frame"/>'
        '</foreignObject><rect width="60" height="60" fill="green"/></svg>',
    ),
    "script in a page": CandidateView(
        media_type=HTML, content=f'<p>A tour</p><script>{TAKE_OVER}</script><img src=x onerror="{TAKE_OVER}">'
    ),
    "what a page loads": CandidateView(
        media_type=HTML,
        content=f'<p>A tour</p><img src="{FOREIGN}/image"><link rel="stylesheet" href="{FOREIGN}/style">'
        f'<style>@import "{FOREIGN}/import"; body {{ background: url({FOREIGN}/background) }}'
        f"@font-face {{ font-family: f; src: url({FOREIGN}/font) }} p {{ font-family: f }}</style>"
        f'<iframe src="{FOREIGN}/frame"></iframe><object data="{FOREIGN}/object"></object>'
        f'<video src="{FOREIGN}/video" autoplay></video><base href="{FOREIGN}/">',
    ),
    "where a page leads by itself": CandidateView(
        media_type=HTML,
        content=f'<p>A tour</p><meta http-equiv="refresh" content="0; url={FOREIGN}/refresh">'
        f'<form action="{FOREIGN}/form" id="f"><input autofocus onfocus="{TAKE_OVER}"></form>',
    ),
    "links of a page": CandidateView(
        media_type=HTML,
        content=f'<p>A tour</p><a id="top" href="{FOREIGN}/top" target="_top">top</a>'
        f'<a id="script" href="javascript:{TAKE_OVER}">script</a><a id="data" target="_top"'
        f' href="data:text/html,<script>{TAKE_OVER}</script>">data</a><a id="new" target="_blank" href="/runs">new</a>'
        '<a id="own" href="/runs">own</a>',
    ),
    "a huge PNG": CandidateView(media_type=PNG, content=address(png(30_000, 30_000, idat=b"x")).partition(",")[2]),
    "a bomb": CandidateView(media_type=SVG, content=bomb(4, 12)),
    "a page that claims the screen": CandidateView(
        media_type=HTML,
        content="<style>body { position: fixed; inset: 0; z-index: 99999; background: red; height: 99999px }</style>"
        f"<p>A tour</p>{'<div>' * 2000}",
    ),
}


@pytest.fixture(scope="module")
def drawn_run(service: Service) -> str:
    """The id of a run that has ended, whose candidates have views of each form and one that cannot be shown."""
    files = {"problem.toml": PROBLEM.format(name=NAME), "program.py": PROGRAM, "evaluator.py": DRAWING}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit(NAME, evaluations=40)
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


def candidate_with(service: Service, run_id: str, view_type: str) -> dict[str, Any]:
    """The fittest candidate with a view of that type."""
    items = service.get(f"/v1/runs/{run_id}/candidates?order=fitness&limit=100")["items"]
    found: dict[str, Any] = next(one for one in items if one["view_type"] == view_type)
    return found


@pytest.fixture
def planted(installation: Installation, service: Service, drawn_run: str) -> Iterator[Any]:
    """Puts a view into the database as no check of ours would let it in, and returns the candidate."""
    target = candidate_with(service, drawn_run, HTML)["id"]
    opened, mine = open_database(installation.evolve.url), CandidateViewRow.candidate_id == target
    with opened.read() as connection:
        kept = connection.execute(select(CandidateViewRow.media_type, CandidateViewRow.content).where(mine)).one()

    def store(media_type: str, content: str) -> None:
        with opened.write() as connection:
            connection.execute(update(CandidateViewRow).where(mine).values(media_type=media_type, content=content))

    def plant(view: CandidateView, address: str) -> str:
        store(view.media_type, view.content.replace(FOREIGN, address))
        return str(target)

    yield plant
    store(*kept)
    opened.close()


class Elsewhere:
    """A server that is none of ours. `asked`: the paths that anybody asked it for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Listener(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    found = Elsewhere()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def test_a_picture_is_drawn_on_the_page_of_its_candidate(page: Page, service: Service, drawn_run: str) -> None:
    page.goto(f"/candidates/{candidate_with(service, drawn_run, SVG)['id']}")
    image = page.locator("#candidate-view img")
    expect(image).to_be_visible()
    assert image.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 0


def test_a_page_stands_in_a_frame_without_rights(page: Page, service: Service, drawn_run: str) -> None:
    page.goto(f"/candidates/{candidate_with(service, drawn_run, HTML)['id']}")
    frame = page.locator("#candidate-view iframe")
    expect(frame).to_have_attribute("sandbox", "")
    expect(page.frame_locator("#candidate-view iframe").get_by_role("heading")).to_contain_text("Value")


def test_what_cannot_be_shown_says_why(page: Page, service: Service, drawn_run: str) -> None:
    page.goto(f"/candidates/{candidate_with(service, drawn_run, '')['id']}")
    expect(page.locator("#candidate-view")).to_contain_text("The view begins with 'no picture'")


def test_small_pictures_stand_in_lists_and_in_the_story(page: Page, service: Service, drawn_run: str) -> None:
    page.goto(f"/runs/{drawn_run}/candidates?order=fitness")
    shown = [one["view_type"] for one in service.get(f"/v1/runs/{drawn_run}/candidates?order=fitness")["items"]]
    expect(page.locator("#candidates .thumbnail img")).to_have_count(shown.count(SVG))
    best = service.get(f"/v1/runs/{drawn_run}")["best_candidate_id"]
    line = service.get(f"/v1/candidates/{best}/lineage")["items"]
    page.goto(f"/candidates/{best}/ancestry")
    expect(page.locator(".story .thumbnail img")).to_have_count([one["view_type"] for one in line].count(SVG))
    page.goto(f"/runs/{drawn_run}")
    expect(page.get_by_role("columnheader", name="View")).to_be_visible()


def test_pictures_stand_in_lineage_grid_and_replay(page: Page, service: Service, drawn_run: str) -> None:
    run = service.get(f"/v1/runs/{drawn_run}")
    line = service.get(f"/v1/candidates/{run['best_candidate_id']}/lineage?direction=ancestors")["items"]
    images = sum(one["view_type"] in (SVG, PNG) for one in line)
    page.goto(f"/runs/{drawn_run}/lineage")
    expect(page.locator("#line .thumbnail img")).to_have_count(images)
    cells = service.get(f"/v1/runs/{drawn_run}/grid")["cells"]
    named = {one["id"]: one for one in service.get(f"/v1/runs/{drawn_run}/candidates?limit=200")["items"]}
    assert [cell["view_type"] for cell in cells] == [named[cell["candidate_id"]]["view_type"] for cell in cells]
    drawn = sum(cell["view_type"] in (SVG, PNG) for cell in cells)
    assert drawn
    page.goto(f"/runs/{drawn_run}/grid")
    expect(page.get_by_role("region", name="Cells").locator(".thumbnail img")).to_have_count(drawn)
    page.wait_for_function(
        "count => [...(document.querySelector('cell-grid').pictures?.images.values() ?? [])]"
        ".filter((one) => one.naturalWidth).length === count",
        arg=drawn,
    )


def test_a_run_without_views_shows_nothing_of_them(page: Page, finished_run: str, service: Service) -> None:
    page.goto(f"/runs/{finished_run}/candidates")
    expect(page.get_by_role("columnheader", name="Candidate")).to_be_visible()
    expect(page.get_by_role("columnheader", name="View")).to_have_count(0)
    page.goto(f"/candidates/{service.get(f'/v1/runs/{finished_run}')['best_candidate_id']}")
    expect(page.locator("#candidate-view")).to_be_hidden()


def test_a_report_holds_the_pictures(page: Page, installation: Installation, drawn_run: str, tmp_path: Any) -> None:
    report = tmp_path / "report.html"
    installation.evolve.lines("report", drawn_run, "-o", str(report), "--json")
    page.goto(report.as_uri())
    image = page.locator("details.source img.view").first
    expect(image).to_have_attribute("src", re.compile("^data:image/svg"))
    assert image.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 0


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("where", ["page", "alone", "inspector"])
def test_hostile_views_have_no_effect(
    page: Page, complaints: Complaints, planted: Any, elsewhere: Elsewhere, drawn_run: str, name: str, where: str
) -> None:
    """On the page of the candidate, beside a chart and opened alone: no request reaches another server, and no page is
    taken over."""
    alone = where == "alone"
    candidate = planted(HOSTILE[name], elsewhere.url)
    opened: list[Page] = []
    began = time.monotonic()

    def hear(other: Page) -> None:
        opened.append(other)

    page.context.on("page", hear)
    short = "{}.{}".format(*candidate.split("_")[2:])
    places = {
        "page": f"/candidates/{candidate}",
        "alone": f"/v1/candidates/{candidate}/view",
        "inspector": f"/runs/{drawn_run}/lineage?inspect={short}",
    }
    place = places[where]
    page.goto(place)
    if where == "inspector":
        expect(page.locator("candidate-inspector .view").first).to_be_visible()
        frames = page.locator("candidate-inspector iframe")
        assert frames.count() == page.locator("candidate-inspector iframe[sandbox='']").count()
        if frames.count():
            expect(page.frame_locator("candidate-inspector iframe").locator("body")).to_be_attached()
    if where == "page":
        expect(page.locator("#candidate-view")).to_be_visible()
        page.locator("#candidate-view").scroll_into_view_if_needed()
    page.wait_for_timeout(700)  # time for what would happen by itself
    if name == "links of a page" and not alone:
        frame = "candidate-inspector iframe" if where == "inspector" else "#candidate-view iframe"
        for link in ("top", "script", "data", "new", "own"):
            expect(page.frame_locator(frame).locator(f"#{link}")).to_be_visible()
            page.frame_locator(frame).locator(f"#{link}").click(no_wait_after=True, timeout=5000)
            page.wait_for_timeout(150)
            page.goto(place)
    assert page.url.endswith(place)
    assert page.title() != "taken over"
    assert (elsewhere.asked, opened) == ([], [])
    assert page.evaluate("1 + 1") == 2, "the page still answers"
    assert time.monotonic() - began < 30
    # What browsers refuse, they tell: no more than that came of it.
    assert [one for one in complaints.heard if not is_refusal(one)] == []
    complaints.heard.clear()


def is_refusal(line: str) -> bool:
    words = (
        "Content Security Policy",
        "Blocked script execution",
        "sandboxed",
        "Unsafe attempt",
        "failed: csp",
        "ERR_BLOCKED_BY_RESPONSE",
        "fram",
    )
    return line.startswith(("console:", "network:")) and any(word in line for word in words)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_shut_nobody_out(open_page: OpenPage, service: Service, drawn_run: str, theme: Any) -> None:
    for view_type in (SVG, HTML, ""):
        page = open_page(f"/candidates/{candidate_with(service, drawn_run, view_type)['id']}", theme=theme)
        expect(page.locator("#candidate-view")).to_be_visible()
        assert_accessible(page)
    assert_accessible(open_page(f"/runs/{drawn_run}/candidates", theme=theme))


def test_views_fit_a_narrow_screen(open_page: OpenPage, service: Service, drawn_run: str) -> None:
    for view_type in (SVG, HTML):
        page = open_page(f"/candidates/{candidate_with(service, drawn_run, view_type)['id']}", width=390)
        expect(page.locator("#candidate-view")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

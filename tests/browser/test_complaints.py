"""What would go unseen otherwise is heard: these pages are as bad as they are on purpose."""

import pytest
from playwright.sync_api import Page, Route

from tests.browser.axe import assert_accessible, violations
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage

POLICY = "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'"
GOOD = """<!doctype html><html lang="en"><head><title>Good</title></head>
<body><main><h1>Good</h1><p>Words.</p></main></body></html>"""
BAD = """<!doctype html><html><head><title>Bad</title></head><body><main><h1>Bad</h1>
<img id="blind" src="data:,"><p id="faint" style="color: #ddd; background: #fff">Words.</p></main></body></html>"""


def serve(page: Page, body: str, *, status: int = 200, policy: str = "") -> None:
    """Show a page at an address where nobody serves one."""
    headers = {"Content-Type": "text/html", **({"Content-Security-Policy": policy} if policy else {})}
    answered: list[Route] = []

    def answer(route: Route) -> None:
        answered.append(route)
        route.fulfill(status=status, headers=headers, body=body)

    page.route("**/made-up", answer)
    page.goto("/made-up")
    assert answered


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('a sad tale')</script>", "console: a sad tale"),
        ("<script>throw new Error('no such thing')</script>", "script: no such thing"),
        ("<script>Promise.reject(new Error('not kept'))</script>", "script: not kept"),
        ("<img src='/nowhere.png'>", r"console: .*404.*/nowhere\.png"),
    ],
)
def test_a_page_that_fails_is_heard(page: Page, complaints: Complaints, body: str, complaint: str) -> None:
    complaints.expect(complaint)
    serve(page, body)
    page.wait_for_load_state("networkidle")


def test_a_request_that_nobody_answers_is_heard(page: Page, complaints: Complaints) -> None:
    complaints.expect("network: GET .*/away.png failed: net::ERR_CONNECTION_REFUSED")
    complaints.expect("console: .*ERR_CONNECTION_REFUSED.*/away.png")
    page.route("**/away.png", lambda route: route.abort("connectionrefused"))
    serve(page, "<img src='/away.png'>")
    page.wait_for_load_state("networkidle")


def test_what_a_page_lets_go_of_is_no_complaint(page: Page) -> None:
    page.route("**/endless", lambda _: None)
    serve(page, "<script>const asked = new AbortController(); fetch('/endless', asked).catch(() => {})</script>")
    with page.expect_event("requestfailed"):
        page.evaluate("asked.abort()")


def test_a_service_that_fails_is_heard(page: Page, complaints: Complaints) -> None:
    complaints.expect("service: GET .*/made-up answered 503")
    complaints.expect("console: .*503")
    serve(page, GOOD, status=503)


def test_what_breaks_the_policy_for_content_is_heard(page: Page, complaints: Complaints) -> None:
    complaints.expect("console: .*Content Security Policy")
    serve(page, f"{GOOD}<script>document.title = 'run'</script>", policy=POLICY)
    assert page.title() == "Good"


def test_a_complaint_that_nobody_expects_is_told_and_one_that_never_comes_as_well() -> None:
    complaints = Complaints()
    complaints.heard.append("console: a sad tale")
    complaints.expect("service: ")
    assert complaints.unexpected() == ["console: a sad tale", "expected, and not heard: service: "]
    complaints.heard.append("service: answered 500")
    complaints.expect("sad")
    assert complaints.unexpected() == []


def test_a_page_that_shuts_people_out_fails_with_its_elements(page: Page) -> None:
    page.set_content(BAD)
    with pytest.raises(AssertionError) as told:
        assert_accessible(page)
    said = str(told.value)
    assert "image-alt (critical) at #blind" in said
    assert "color-contrast (serious) at #faint" in said
    assert "html-has-lang (serious) at html" in said
    assert len(violations(page, "h1")) == 0


def test_a_page_is_examined_whatever_its_policy_for_content_forbids(page: Page) -> None:
    serve(page, BAD.replace(' style="color: #ddd; background: #fff"', ""), policy=POLICY + "; img-src data:")
    assert [line.split()[1] for line in violations(page)] == ["html-has-lang", "image-alt"]


def test_a_page_without_scripts_is_refused_at_once_rather_than_waited_for(open_page: OpenPage) -> None:
    with pytest.raises(AssertionError, match="needs a page with scripts on"):
        violations(open_page(javascript=False))

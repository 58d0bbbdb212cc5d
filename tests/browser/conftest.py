"""A browser, a service for it to look at, and the rule that no page complains."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from service.dashboard.loading import WAIT_HEADER
from tests.browser import hostile
from tests.browser.chromium import REMEDY, find_chromium, launch
from tests.browser.complaints import Complaints
from tests.browser.installation import (
    ANSWERING,
    ENDLESS,
    FINISHED,
    PROBLEM,
    PROGRAM,
    Installation,
    Service,
    installed,
)
from tests.patience import PATIENCE_SECONDS

HERE = Path(__file__).parent
MILLISECONDS = PATIENCE_SECONDS * 1000

OpenPage = Callable[..., Page]

expect.set_options(timeout=MILLISECONDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


# Of the package, not of the session: Playwright's event loop stands still between its calls, and while it does no
# test of a coroutine can run in this process.
@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser of these tests."""
    candidate = find_chromium()
    assert candidate, REMEDY
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium, candidate, tmp_path_factory.mktemp("chromium"))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A service in a process of its own."""
    with installed(tmp_path_factory.mktemp("installation")) as installation:
        yield installation


@pytest.fixture(scope="package")
def signed_in(chromium: Browser, installation: Installation) -> StorageState:
    """What a browser keeps after the address that the terminal shows was opened once."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(installation.login)
        kept = context.storage_state()
    assert {cookie["name"] for cookie in kept["cookies"]} >= {"evolve_session", "evolve_csrf"}
    return kept


@pytest.fixture(scope="package")
def service(installation: Installation, signed_in: StorageState) -> Iterator[Service]:
    """The API, for what a test needs to be there before it looks."""
    cookies = {cookie["name"]: cookie["value"] for cookie in signed_in["cookies"]}
    headers = {"X-CSRF-Token": cookies["evolve_csrf"]}
    with httpx.Client(base_url=installation.url, cookies=cookies, headers=headers, timeout=PATIENCE_SECONDS) as client:
        yield Service(client)


@pytest.fixture(scope="package")
def finished_run(service: Service) -> str:
    """The id of a run that has ended: two objectives and two measures, three islands, failures among its candidates."""
    service.create_problem(FINISHED)
    run_id = service.submit(FINISHED, evaluations=120, labels={"purpose": "tests"})
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


@pytest.fixture(scope="package")
def answering_run(service: Service) -> str:
    """The id of a run that has ended, of candidates that answer a number or what no page may run."""
    evaluator = ANSWERING.format(hostile=hostile.SCRIPT + hostile.UNSEEN)
    files = {"problem.toml": PROBLEM.format(name="answering"), "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("answering", evaluations=30)
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


@pytest.fixture(scope="package")
def endless_problem(service: Service) -> str:
    """The name of a problem whose evaluations take their time."""
    service.create_problem(ENDLESS, seconds=0.1)
    return ENDLESS


@pytest.fixture
def live_run(service: Service, endless_problem: str) -> Iterator[str]:
    """The id of a run that has begun and goes on for longer than the test."""
    run_id = service.submit(endless_problem, evaluations=1_000_000)
    service.begin(run_id, evaluated=4)
    yield run_id
    service.cancel(run_id)


@pytest.fixture
def complaints(installation: Installation) -> Iterator[Complaints]:
    """What the pages of this test complain of, which fails it unless it was expected."""
    heard, begin = Complaints(), installation.log.stat().st_size
    yield heard
    if found := heard.unexpected():
        said = installation.log.read_bytes()[begin:].decode(errors="replace").replace("\\n", "\n")
        pytest.fail("\n".join([*found, "", "The service said:", said]), pytrace=False)


@pytest.fixture
def open_page(
    chromium: Browser, installation: Installation, signed_in: StorageState, complaints: Complaints
) -> Iterator[OpenPage]:
    """Opens pages, each in a context of its own, as somebody who is signed in or as nobody."""
    contexts = []

    def open_page(
        path: str = "",
        *,
        theme: Literal["light", "dark"] = "light",
        width: int = 1280,
        height: int = 800,
        javascript: bool = True,
        motion: bool = False,
        stranger: bool = False,
        whole: bool = True,
    ) -> Page:
        context = chromium.new_context(
            base_url=installation.url,
            storage_state=None if stranger else signed_in,
            color_scheme=theme,
            viewport={"width": width, "height": height},
            java_script_enabled=javascript,
            reduced_motion="no-preference" if motion else "reduce",
            extra_http_headers={WAIT_HEADER: "1"} if whole else {},  # on a busy machine, figures come later else
        )
        contexts.append(context)
        context.set_default_timeout(MILLISECONDS)
        complaints.listen(context)
        page = context.new_page()
        if path:
            page.goto(path)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            # A handler that is still answering would find its response gone, and fail the test that comes next.
            page.unroute_all(behavior="ignoreErrors")
        context.close()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """An empty page of a browser that is signed in; paths are those of the service."""
    return open_page()

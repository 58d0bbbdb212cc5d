"""Take a picture of every page of the dashboard in both themes: docs/images/dashboard/PAGE-THEME.webp.

From real runs of shipped examples, made on the spot: `.venv/bin/python -m scripts.screenshots [PAGE ...]`.
"""

import base64
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from playwright.sync_api import sync_playwright

from service.dashboard.run_page import TABS
from tests.browser.chromium import REMEDY, find_chromium, launch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "images" / "dashboard"
EVOLVE = (sys.executable, "-m", "service.cli.main")
WIDTH, HEIGHT, MAX_HEIGHT = 1280, 800, 1700
QUALITY = 80
PATIENCE_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A service with runs in it. `maze`: of four objectives; `packing`: two runs of one with measures."""

    url: str
    login: str
    maze: str
    packing: Sequence[str]


def main(wanted: Sequence[str]) -> None:
    """Take the pictures, of all pages or of those that are named."""
    program = find_chromium()
    if program is None:
        sys.exit(f"this {REMEDY}")
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright.chromium, program, Path(folder))
        with served(Path(folder)) as site:
            for name, path in pages(site):
                if not wanted or name in wanted:
                    take(browser, site, name, path)
        browser.close()


def pages(site: Site) -> Iterator[tuple[str, str]]:
    """Every page by a name, and where it is."""
    maze = f"/runs/{site.maze}"
    with httpx.Client(base_url=site.url, cookies=_cookies(site)) as api:
        best = api.get(f"/v1{maze}").json()["best_candidate_id"]
        number = api.get(f"/v1/candidates/{best}").json()["proposal_number"]
    yield "runs", "/runs"
    yield "new-run", f"/runs/new?from={site.packing[0]}"
    for tab in (tab for tab in TABS if tab.name != "setup"):  # it names the folder that the problem lay in
        yield tab.name, tab.of(site.packing[0] if tab.name == "grid" else site.maze)
    yield "candidate", f"/candidates/{best}"
    yield "ancestry", f"/candidates/{best}/ancestry"
    yield "proposal", f"{maze}/proposals/{number}"
    yield "compare", "/compare?" + "&".join(f"run={run}" for run in site.packing)
    yield "workers", "/workers"
    yield "admin", "/admin"
    yield "sign-in", "/sign-in"


_kept: dict[str, str] = {}


def _cookies(site: Site) -> dict[str, str]:
    """The session that the one-time address opens."""
    if not _kept:
        _kept.update(httpx.get(site.login).cookies)
    return _kept


def take(browser: "Browser", site: Site, name: str, path: str) -> None:
    """Take one page in both themes."""
    for theme in ("light", "dark"):
        context = browser.new_context(
            base_url=site.url,
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": WIDTH, "height": HEIGHT},
            reduced_motion="reduce",
        )
        if name != "sign-in":
            context.add_cookies(
                [{"name": key, "value": value, "url": site.url} for key, value in _cookies(site).items()]
            )
        page = context.new_page()
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"
        page.wait_for_load_state("networkidle" if name in {"new-run", "sign-in", "admin"} else "load")
        page.wait_for_timeout(1500)  # charts draw when their columns have come
        height = min(MAX_HEIGHT, int(page.evaluate("document.documentElement.scrollHeight")))
        page.set_viewport_size({"width": WIDTH, "height": max(HEIGHT, height)})
        page.wait_for_timeout(300)
        # Over the protocol of the developer tools, which knows a form a fifth as large as what Playwright offers.
        shot = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        (PLACE / f"{name}-{theme}.webp").write_bytes(base64.b64decode(shot["data"]))
        context.close()
        print(f"{name}-{theme}.webp")


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """Make the runs, and serve them."""
    db = str(folder / "runs.db")
    maze = run(folder, db, "maze", "--policy", "bundled:maze-vpo", "--evaluations", "600")
    packing = [run(folder, db, "circle_packing", "--evaluations", "400", "--seed", str(seed)) for seed in (0, 1)]
    server = subprocess.Popen(
        [*EVOLVE, "serve", "--db", db, "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        login = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+/login\S+", line)))
        yield Site(url=login.partition("/login")[0], login=login, maze=maze, packing=packing)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_SECONDS)


def run(folder: Path, db: str, example: str, *words: str) -> str:
    """The id of a run of an example."""
    done = subprocess.run(
        [*EVOLVE, "run", str(ROOT / "examples" / example), "--db", db, "--json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    found = re.search(r"run_[0-9a-f-]{36}", done.stdout)
    assert found is not None
    return found[0]


if __name__ == "__main__":
    main(sys.argv[1:])

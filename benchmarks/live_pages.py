"""What a page costs a browser while its run is at work: `python -m benchmarks.live_pages`.

A made-up run gets candidates at a steady pace from a process of its own, `evolve serve` serves it, and a Chromium shows
one page of it. By page, as shares of one core over the time measured: the processor time of the page's renderer
process, that of its main thread alone, with the parts that scripts, styles and layout have of its time, that of the
browser's process that draws, and that of the service.

JSON on standard output, a table on standard error. It needs a Chromium.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.browsing import Visitor, visitor
from benchmarks.dashboard import processor_seconds
from benchmarks.harness import arguments, report, scratch
from benchmarks.landscape import Telling, begin_run
from service.dashboard.run_page import TABS
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock
from tests.browser.installation import Installation, installed

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOAL_PERCENT = 5.0
FIGURES = ("renderer", "main_thread", "scripts", "styles_layout", "drawing", "service", "told_per_second")
FAR_AWAY = 1_000_000_000  # more candidates than are told


@contextmanager
def at_work(folder: Path, programs: int, seed: int, per_second: float) -> Iterator[Telling]:
    """A run that has so many candidates, and gets more in a steady pace for as long as the block takes."""
    database = open_database(f"sqlite:///{folder / 'runs.db'}")
    (folder / "landscape").mkdir()
    began = datetime.now(UTC) - timedelta(seconds=programs / per_second)
    log = SqlRunLog(database, SystemClock())
    telling = begin_run(log, folder / "landscape", programs, seed, began)
    stop = threading.Event()
    thread = threading.Thread(target=_go_on, args=(telling, stop, per_second), daemon=True)
    thread.start()
    try:
        yield telling
    finally:
        stop.set()
        thread.join()
        database.close()


class _Stopped(Exception):
    """Nothing more is wanted."""


def _go_on(telling: Telling, stop: threading.Event, per_second: float) -> None:
    due = time.monotonic()

    def answered() -> None:
        nonlocal due
        telling.teller.at = max(telling.teller.at, datetime.now(UTC))
        telling.teller.commit()
        due += 1 / per_second
        if stop.wait(max(0.0, due - time.monotonic())):
            raise _Stopped

    telling.answered = answered
    try:
        telling.tell_until(FAR_AWAY)
    except _Stopped:
        telling.end()


def follow(browser: Visitor, service: Installation, path: str, telling: Telling, seconds: float) -> dict[str, Any]:
    """Shares of one core, in per cent, while a page follows the run."""
    with browser.opened(path) as page, _meter(page, service.pid) as spent:
        page.wait_for_timeout(1000 * seconds / 4)  # what loading asks for is no part of it
        before, began, told = spent(), time.monotonic(), telling.created
        page.wait_for_timeout(1000 * seconds)
        after, taken = spent(), time.monotonic() - began
        shares = {name: round(100 * (after[name] - before[name]) / taken, 2) for name in after}
        return shares | {"told_per_second": round((telling.created - told) / taken, 1)}


@contextmanager
def _meter(page: "Page", service: int) -> Iterator[Callable[[], dict[str, float]]]:
    """What gives the processor seconds that a page has taken so far, by who spent them."""
    assert page.context.browser is not None
    own, whole = page.context.new_cdp_session(page), page.context.browser.new_browser_cdp_session()
    own.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> dict[str, float]:
        told = {one["name"]: one["value"] for one in own.send("Performance.getMetrics")["metrics"]}
        processes = whole.send("SystemInfo.getProcessInfo")["processInfo"]
        return {
            "renderer": sum(one["cpuTime"] for one in processes if one["type"] == "renderer"),
            "main_thread": told["TaskDuration"],
            "scripts": told["ScriptDuration"],
            "styles_layout": told["LayoutDuration"] + told["RecalcStyleDuration"],
            "drawing": sum(one["cpuTime"] for one in processes if one["type"] == "GPU"),
            "service": processor_seconds(service),
        }

    yield spent
    whole.detach()
    own.detach()


def table(programs: int, pages: dict[str, dict[str, Any]]) -> str:
    """The figures of a run for people."""
    lines = [f"{programs} candidates, per cent of one core", f"  {'page':12}" + "".join(f"{n:>17}" for n in FIGURES)]
    lines += [f"  {page:12}" + "".join(f"{found[name]!s:>17}" for name in FIGURES) for page, found in pages.items()]
    missed = [name for name, found in pages.items() if found["renderer"] > GOAL_PERCENT]
    return "\n".join([*lines, *(f"  MISSED {name}" for name in missed)]) + "\n"


def measure(programs: int, wanted: Sequence[str], options: Any) -> dict[str, Any]:
    """All pages of a run that has so many candidates when the first page is opened."""
    with scratch() as home:
        folder = Path(home)
        with (
            at_work(folder, programs, options.seed, options.per_second) as telling,
            installed(folder) as service,
            tempfile.TemporaryDirectory(prefix="evolve-chromium-") as cache,
            visitor(service.url, service.login, Path(cache)) as browser,
        ):
            tabs = [tab for tab in TABS if not wanted or tab.name in wanted]
            run = telling.teller.run_id
            pages = {tab.name: follow(browser, service, tab.of(run), telling, options.seconds) for tab in tabs}
    sys.stderr.write(table(programs, pages))
    return {"programs": programs, "pages": pages}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--pages", nargs="+", default=[], help="names of tabs; all where none is given")
    parser.add_argument("--per-second", type=float, default=5.0, help="candidates that the run gets")
    parser.add_argument("--seconds", type=float, default=60.0, help="for which each page is measured")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = [measure(programs, options.pages, options) for programs in options.sizes]
    report("live_pages", {"per_second": options.per_second, "seconds": options.seconds, "sizes": sizes}, options.out)


if __name__ == "__main__":
    main()

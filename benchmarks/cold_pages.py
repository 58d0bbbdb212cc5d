"""Pages of a long run that nobody has read before: `python -m benchmarks.cold_pages`.

Each page is opened once, in a browser with an empty cache, from a service that has just started and holds nothing of
the run. The run has ended, and is saved as its runner saves it then; `--unsaved` measures one that is not, as after an
update of the service.

By page: when the browser paints first, when all figures are there, when the last chart is drawn, the longest task of
the main thread on the processor's clock, how far the layout shifted (CLS, as browsers define it), and the processor
time of the service. Before them, the first answer of the API about the metrics of the run, from such a service too.

JSON on standard output, a table on standard error. The pages need a Chromium.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.browsing import READ, longest_task, visitor
from benchmarks.dashboard import Asker, made, processor_seconds
from benchmarks.harness import arguments, report, scratch
from service.dashboard.run_page import TABS
from service.db.engine import open_database
from service.db.reader import SqlRunReader
from service.db.run_columns import SqlColumnStore
from service.projections.saved_columns import save_ended_run
from tests.browser.installation import installed

SETTLING_SECONDS = 0.5  # after the charts are drawn, for what still moves


def visit_cold(folder: Path, home: Path, path: str, *, unsaved: bool) -> dict[str, Any]:
    """Open a page of a service that has read nothing yet."""
    if unsaved:
        forget(folder / "runs.db")
    with installed(folder) as service, visitor(service.url, service.login, home) as browser:
        before = processor_seconds(service.pid)
        with browser.opened(path, traced=True) as page:
            page.wait_for_timeout(1000 * SETTLING_SECONDS)
            seen = page.evaluate(READ)
            longest = longest_task(browser.browser)
        worked = processor_seconds(service.pid) - before
    drawn = list(seen["drawn"].values())
    return {
        "first_paint_ms": round(seen["first"] or 0.0),
        "whole_ms": round(seen["whole"] or seen["first"] or 0.0),
        "charts_drawn_ms": round(max(drawn)) if drawn else None,
        "longest_task_ms": round(longest),
        "layout_shift": round(seen["shift"], 3),
        "server_cpu_ms": round(1000 * worked),
    }


def first_metrics(folder: Path, run: str, *, unsaved: bool) -> dict[str, float]:
    """Milliseconds of a service that has read nothing yet until it answers with the metrics of a run."""
    if unsaved:
        forget(folder / "runs.db")
    with (
        installed(folder) as service,
        httpx.Client(base_url=service.url, timeout=120, follow_redirects=True) as client,
    ):
        client.get(service.login).raise_for_status()
        found = Asker(client=client, pid=service.pid, times=1).ask(f"/v1/runs/{run}/metrics")
    return {"whole_ms": found["median_ms"], "server_cpu_ms": found["cpu_ms"]}


def forget(database: Path) -> None:
    """Remove what earlier processes saved of runs, so that the next one reads them from their events."""
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM run_columns")
    connection.close()


def save(database: Path, run_id: str) -> None:
    """Save a run as whoever drives it does when it has ended."""
    opened = open_database(f"sqlite:///{database}")
    try:
        save_ended_run(SqlColumnStore(opened), SqlRunReader(opened), run_id)
    finally:
        opened.close()


def table(evaluations: int, metrics: dict[str, float], pages: dict[str, dict[str, Any]]) -> str:
    """The figures of a run for people."""
    first = f"first metrics after {metrics['whole_ms']} ms, {metrics['server_cpu_ms']} ms of the processor"
    names = ("first_paint_ms", "whole_ms", "charts_drawn_ms", "longest_task_ms", "layout_shift", "server_cpu_ms")
    lines = [f"{evaluations} candidates: {first}", f"  {'page':12}" + "".join(f"{name:>17}" for name in names)]
    lines += [f"  {page:12}" + "".join(f"{found[name]!s:>17}" for name in names) for page, found in pages.items()]
    return "\n".join(lines) + "\n"


def measure(programs: int, wanted: Sequence[str] | None, seed: int, *, unsaved: bool) -> dict[str, Any]:
    """All pages of a run of so many candidates."""
    with scratch() as folder, tempfile.TemporaryDirectory(prefix="evolve-chromium-") as home:
        run = made(Path(folder), programs, seed)
        save(Path(folder) / "runs.db", run)
        metrics = first_metrics(Path(folder), run, unsaved=unsaved)
        tabs = [tab for tab in TABS if wanted is None or tab.name in wanted]
        pages = {tab.name: visit_cold(Path(folder), Path(home), tab.of(run), unsaved=unsaved) for tab in tabs}
    sys.stderr.write(table(programs, metrics, pages))
    return {"programs": programs, "metrics": metrics, "pages": pages}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--pages", nargs="*", help="names of tabs; all without this option")
    parser.add_argument("--unsaved", action="store_true", help="a run of which nothing is saved")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = [measure(programs, options.pages, options.seed, unsaved=options.unsaved) for programs in options.sizes]
    report("cold_pages", {"unsaved": options.unsaved, "sizes": sizes}, options.out)


if __name__ == "__main__":
    main()

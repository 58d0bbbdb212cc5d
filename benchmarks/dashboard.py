"""What pages of long runs cost: `python -m benchmarks.dashboard`.

A made-up run of 10,000 programs, and one of 50,000, each in a SQLite database that `evolve serve` serves. By page: when
a browser with an empty cache paints first and when the charts are drawn (the median of some visits, on loopback), and
what is sent (compressed) of the page itself and of the data of its charts. By request: how long the server takes for
each sort and filter of the table of programs, one after the other over one connection, as a page and of the API. And
script in a frame while the map of the lineage is dragged about, as the browser records it.

JSON on standard output, a table on standard error. It needs a Chromium.
"""

import gzip
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.browsing import Visitor, choices, pan, visit, visitor
from benchmarks.harness import arguments, report, scratch
from benchmarks.landscape import ISLANDS, OPERATORS, write_run
from service.dashboard.run_page import TABS
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock
from tests.browser.installation import installed

FIRST_PAINT_MS, PAGE_KB, REQUEST_MS, FRAME_MS = 1000.0, 150.0, 100.0, 8.0
ENOUGH_POINTS = 4000
TABLE, MAP = "candidates", "lineage"
SORTS = ({"order": "age"}, {"order": "fitness"})
FILTERS: Sequence[Mapping[str, str]] = (
    {"status": "evaluated"},
    {"status": "duplicate"},
    {"outcome": "timeout"},
    {"operator": next(reversed(OPERATORS))},
    {"policy": "syntax"},
    {"island": str(ISLANDS - 1)},
    {"island": "1", "outcome": "ok", "operator": "crossover", "order": "fitness"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one server, over one connection, so many times for each address."""

    client: httpx.Client
    pid: int
    times: int

    def ask(self, address: str, times: int = 0, **params: Any) -> dict[str, float]:
        """Milliseconds until an answer is there, its body included, and of the processor that it took the server."""
        spent, times, before = [], times or self.times, processor_seconds(self.pid)
        for _ in range(times):
            began = time.perf_counter()
            self.client.get(address, params=params or None).raise_for_status()
            spent.append(1000 * (time.perf_counter() - began))
        worked = 1000 * (processor_seconds(self.pid) - before) / times
        p95 = sorted(spent)[int(0.95 * (times - 1))]
        return {"median_ms": round(median(spent), 1), "p95_ms": round(p95, 1), "cpu_ms": round(worked, 1)}

    def json(self, address: str, **params: Any) -> Any:
        return self.client.get(address, params=params or None).raise_for_status().json()


def processor_seconds(pid: int) -> float:
    """Seconds that a process has used its processors."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def columns(asker: Asker, run: str) -> dict[str, Any]:
    """The evaluations for charts: read for the first time and again, all of them, fewer, and those since the last."""
    address = f"/v1/runs/{run}/columns"
    cold = asker.ask(address, times=1)
    total = asker.json(address)["total"]
    asked = {"all": {}, f"points={ENOUGH_POINTS}": {"points": ENOUGH_POINTS}, "after=total": {"after": total}}
    found: dict[str, Any] = {"evaluations": total, "cold_ms": cold["median_ms"], "cold_cpu_ms": cold["cpu_ms"]}
    for name, params in asked.items():
        body = asker.client.get(address, params=params, headers={"Accept-Encoding": "identity"}).content
        size = {"raw_kb": round(len(body) / 1024, 1), "gzip_kb": round(len(gzip.compress(body, 4)) / 1024, 1)}
        found[name] = asker.ask(address, **params) | size
    return found


def requests(asker: Asker, visitor: Visitor, run: str) -> dict[str, Any]:
    """Every sort and filter of the programs, of the API and of the page."""
    address = f"/v1/runs/{run}/candidates"
    asked = [f"{address}?{httpx.QueryParams(dict(params))}" for params in (*SORTS, *FILTERS)]
    found = {"api": {one.removeprefix(address): asker.ask(one) for one in asked}}
    page = next((tab.of(run) for tab in TABS if tab.name == TABLE), None)
    if page is not None:
        offered = choices(visitor, page)
        whole = {one if one.startswith("/") else page + one for kind in ("sort", "filter") for one in offered[kind]}
        found["page"] = {one.removeprefix(page): asker.ask(one) for one in sorted({page, *whole})}
    return found


def pages_of(asker: Asker, run: str) -> dict[str, str]:
    """Addresses of the pages about a run, by name, and of one of its programs."""
    best = asker.json(f"/v1/runs/{run}/candidates", order="fitness", limit=1)["items"][0]["id"]
    wanted = {tab.name: tab.of(run) for tab in TABS} | {"program": f"/candidates/{best}", "runs": "/runs"}
    return {name: path for name, path in wanted.items() if asker.client.get(path).is_success}


def measure(programs: int, options: Any) -> dict[str, Any]:
    """All figures of a run of so many programs."""
    with scratch() as folder, tempfile.TemporaryDirectory(prefix="evolve-chromium-") as home:
        began = time.monotonic()
        run = made(Path(folder), programs, options.seed)
        taken = round(time.monotonic() - began, 1)
        with installed(Path(folder)) as service, visitor(service.url, service.login, Path(home)) as browser:
            with client_of(browser) as client:
                asker = Asker(client=client, pid=service.pid, times=options.requests)
                fetched, asked = columns(asker, run), requests(asker, browser, run)
                pages = pages_of(asker, run)
            seen = {name: visit(browser, path, options.visits) for name, path in pages.items()}
            dragged = pan(browser, pages[MAP], "lineage-map", options.trace) if MAP in pages else None
    return {
        "programs": programs,
        "written_in_seconds": taken,
        "load": round(os.getloadavg()[0], 1),
        "pages": seen,
        "requests": asked,
        "columns": fetched,
        "panning": dragged,
    }


def made(folder: Path, programs: int, seed: int) -> str:
    """A run of so many programs in the database that is served from this folder."""
    database = open_database(f"sqlite:///{folder / 'runs.db'}")
    (folder / "landscape").mkdir()
    try:
        return write_run(SqlRunLog(database, SystemClock()), folder / "landscape", programs, seed)
    finally:
        database.close()


@contextmanager
def client_of(visitor: Visitor) -> Iterator[httpx.Client]:
    """A client with the session of a browser, and one connection."""
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.state["cookies"]}
    with httpx.Client(base_url=visitor.url, cookies=cookies, timeout=120) as client:
        yield client


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Which budgets a run of this length does not keep."""
    found = []
    for name, page in figures["pages"].items():
        if page["first_paint_ms"] is None or page["first_paint_ms"] > FIRST_PAINT_MS:
            found.append(f"{name}: first paint after {page['first_paint_ms']} ms")
        if page["page_kb"] > PAGE_KB:
            found.append(f"{name}: {page['page_kb']} KB")
    for kind, asked in figures["requests"].items():
        found += [
            f"{kind} {a or 'as it is'}: {t['median_ms']} ms" for a, t in asked.items() if t["median_ms"] > REQUEST_MS
        ]
    dragged = figures["panning"]
    if dragged is not None and dragged.get("p95_ms", 0.0) > FRAME_MS:
        found.append(f"panning: {dragged['p95_ms']} ms of script in a frame")
    return found


def table(figures: Mapping[str, Any]) -> str:
    """The figures of a run for people."""
    lines = [f"{figures['programs']} programs (load {figures['load']})"]
    lines.append(f"  {'page':12}{'paint ms':>10}{'page KB':>10}{'data KB':>10}  charts drawn, ms")
    for name, page in figures["pages"].items():
        drawn = ", ".join(f"{chart} {at}" for chart, at in page["charts_drawn_ms"].items())
        lines.append(f"  {name:12}{page['first_paint_ms']!s:>10}{page['page_kb']:>10}{page['data_kb']:>10}  {drawn}")
    for kind, asked in figures["requests"].items():
        slowest = max(asked, key=lambda one: asked[one]["median_ms"])
        lines.append(f"  slowest of {len(asked)} sorts and filters, {kind}: {asked[slowest]} {slowest}")
    lines.append(f"  columns: {figures['columns']}")
    lines.append(f"  panning: {figures['panning']}")
    lines += [f"  MISSED {one}" for one in figures["missed"]]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--visits", type=int, default=5, help="of each page")
    parser.add_argument("--requests", type=int, default=20, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trace", type=Path, help="keep what the browser recorded while the map was dragged about")
    options = parser.parse_args()
    sizes = []
    for programs in options.sizes:
        figures = measure(programs, options)
        sizes.append(figures | {"missed": missed(figures)})
        sys.stderr.write(table(sizes[-1]))
    report("dashboard", {"sizes": sizes}, options.out)


if __name__ == "__main__":
    main()

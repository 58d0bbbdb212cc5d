"""Pages as a browser sees them: what it is sent, when it paints and draws charts, how long scripts run in a frame."""

import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.browser.chromium import REMEDY, find_chromium, launch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, StorageState

PATIENCE_SECONDS = 60.0
# Before any script of the page: the largest paint, when each chart was drawn first, on a canvas or as it says, and how
# far the layout shifted.
WATCH = """
(() => {
  const watched = window.watched = { largest: null, drawn: {}, shift: 0 }, known = new WeakSet();
  const draw = (chart) => queueMicrotask(() => { watched.drawn[chart.localName] ??= performance.now(); });
  new PerformanceObserver((list) => { for (const one of list.getEntries()) watched.largest = one.startTime; })
    .observe({ type: "largest-contentful-paint", buffered: true });
  const shifted = (one) => { if (!one.hadRecentInput) watched.shift += one.value; };
  new PerformanceObserver((list) => list.getEntries().forEach(shifted))
    .observe({ type: "layout-shift", buffered: true });
  new MutationObserver((records) => { for (const one of records) draw(one.target); })
    .observe(document, { subtree: true, attributes: true, attributeFilter: ["data-shown"] });
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ["fill", "stroke", "fillRect", "putImageData"]) {
    const own = pen[name];
    pen[name] = function (...given) {
      const chart = known.has(this.canvas) ? null : this.canvas.closest("[data-src]");
      if (chart) { known.add(this.canvas); draw(chart); }
      return own.apply(this, given);
    };
  }
})();
"""
CHARTS = "[...document.querySelectorAll('main figure [data-src]')].map((one) => one.localName)"
READ = """
() => {
  const page = performance.getEntriesByType("navigation")[0];
  const sent = performance.getEntriesByType("resource").map((one) => [new URL(one.name).pathname, one.encodedBodySize]);
  return {
    first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
    whole: performance.getEntriesByName("evolve:whole")[0]?.startTime ?? null,
    server: page.responseStart - page.requestStart,
    charts: CHARTS,
    sent: [[location.pathname, page.encodedBodySize], ...sent],
    ...window.watched,
  };
}
""".replace("CHARTS", CHARTS)
CHOICES = """
() => {
  const sorts = [...document.querySelectorAll("main thead a[href]")].map((one) => one.getAttribute("href"));
  const filters = [];
  for (const form of document.querySelectorAll("main form:not([method=post])")) {
    const address = (name, value) => {
      const asked = new URL(form.getAttribute("action") || location.pathname, location.href);
      asked.searchParams.set(name, value);
      return asked.pathname + asked.search;
    };
    for (const field of form.querySelectorAll("select[name]"))
      for (const one of field.options) if (one.value) filters.push(address(field.name, one.value));
    for (const field of form.querySelectorAll("input[type=search][name]")) filters.push(address(field.name, "x ** 3"));
  }
  return { sort: [...new Set(sorts)], filter: [...new Set(filters)] };
}
"""
SCRIPTS = frozenset(
    {"EventDispatch", "FireAnimationFrame", "FunctionCall", "EvaluateScript", "RunMicrotasks", "TimerFire"}
)
FRAME = ("AnimationFrame", "b")
CATEGORIES = ("-*", "devtools.timeline")
TASK_CATEGORIES = ("-*", "devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel", "__metadata")
TASKS = frozenset({"RunTask", "ThreadControllerImpl::RunTask"})
PAN_STEPS, ZOOM_STEPS, STEP_SECONDS = 90, 6, 1 / 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A browser that is signed in; each page is opened with nothing kept from another."""

    browser: "Browser"
    url: str
    state: "StorageState"

    @contextmanager
    def opened(self, path: str, *, traced: bool = False) -> Iterator["Page"]:
        """A page once all that it loads is there and its charts are drawn; `longest_task` needs it traced."""
        context = self.browser.new_context(
            base_url=self.url, storage_state=self.state, viewport={"width": 1280, "height": 800}
        )
        try:
            context.set_default_timeout(1000 * PATIENCE_SECONDS)
            context.add_init_script(WATCH)
            page = context.new_page()
            if traced:
                self.browser.start_tracing(page=page, categories=list(TASK_CATEGORIES))
            answer = page.goto(path)
            if answer is None or not answer.ok:
                raise LookupError(f"{path} is not there")
            _drawn(page)
            yield page
        finally:
            context.close()


@contextmanager
def visitor(url: str, login: str, home: Path) -> Iterator[Visitor]:
    """Start a browser and sign in by the address that a service told."""
    from playwright.sync_api import sync_playwright

    program = find_chromium()
    if program is None:
        raise SystemExit(f"this benchmark {REMEDY}")
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium, program, home)
        with browser.new_context() as context:
            context.new_page().goto(login, timeout=1000 * PATIENCE_SECONDS)
            state = context.storage_state()
        yield Visitor(browser=browser, url=url, state=state)
        browser.close()


def _drawn(page: "Page") -> None:
    """Wait until every chart has said that it shows something, or for as long as patience lasts."""
    until = time.monotonic() + PATIENCE_SECONDS
    page.wait_for_load_state("load")
    while time.monotonic() < until:
        wanted, there, loading = page.evaluate(
            f"[{CHARTS}, Object.keys(window.watched.drawn), document.querySelector('[data-loading]') !== null]"
        )
        if (
            not loading
            and set(wanted) <= set(there)
            and page.evaluate("performance.getEntriesByType('paint').length > 1")
        ):
            return
        time.sleep(0.05)


def visit(visitor: Visitor, path: str, times: int) -> dict[str, Any]:
    """How a page came, the median of so many first visits."""
    seen = []
    for _ in range(times):
        with visitor.opened(path) as page:
            seen.append(page.evaluate(READ))
    return {
        "first_paint_ms": _median([one["first"] for one in seen]),
        "largest_paint_ms": _median([one["largest"] for one in seen]),
        "answer_ms": _median([one["server"] for one in seen]),
        "charts_drawn_ms": {
            name: _median([one["drawn"].get(name) for one in seen]) for name in sorted({*seen[0]["charts"]})
        },
        **sizes(seen[0]["sent"]),
    }


def sizes(sent: Sequence[tuple[str, int]]) -> dict[str, float]:
    """KB on the wire of the page itself, by kind, and of the data that its charts asked for."""
    kinds = {"html": 0, "css": 0, "js": 0, "other": 0}
    data = 0
    for place, (path, size) in enumerate(sent):
        suffix = path.rpartition(".")[2]
        if path.startswith("/v1/"):
            data += size
        else:
            kinds["html" if place == 0 else suffix if suffix in kinds else "other"] += size
    in_kb = {f"{kind}_kb": round(size / 1024, 1) for kind, size in kinds.items()}
    return {"page_kb": round(sum(kinds.values()) / 1024, 1), **in_kb, "data_kb": round(data / 1024, 1)}


def choices(visitor: Visitor, path: str) -> dict[str, list[str]]:
    """The addresses behind the sortable columns of a page's tables, and behind each choice of its filters."""
    with visitor.opened(path) as page:
        found: dict[str, list[str]] = page.evaluate(CHOICES)
        return found


def pan(visitor: Visitor, path: str, chart: str, trace: Path | None) -> dict[str, Any]:
    """Script in a frame while a chart is zoomed into with the wheel and then dragged about.

    Args:
        trace: keep what the browser recorded here, for its own tools.
    """
    with visitor.opened(path) as page:
        drawing = page.locator(chart).locator("canvas, svg").first
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        assert box is not None, f"{chart} of {path} shows nothing"
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        visitor.browser.start_tracing(page=page, categories=list(CATEGORIES))
        for _ in range(ZOOM_STEPS):
            page.mouse.wheel(0, -120)
            time.sleep(STEP_SECONDS)
        page.mouse.down()
        for step in range(PAN_STEPS):
            page.mouse.move(x + 2 * (step if step < PAN_STEPS / 2 else PAN_STEPS - step), y)
            time.sleep(STEP_SECONDS)
        page.mouse.up()
        recorded = visitor.browser.stop_tracing()
    if trace is not None:
        trace.write_bytes(recorded)
    return summed(frames(json.loads(recorded)["traceEvents"]))


def frames(events: Sequence[dict[str, Any]]) -> list[float]:
    """Milliseconds of script in each frame of the thread that had most of them, on the processor's clock."""
    begun = [event for event in events if (event["name"], event["ph"]) == FRAME]
    threads = [(event["pid"], event["tid"]) for event in begun]
    if not threads:
        return []
    busiest = max(set(threads), key=threads.count)
    starts = sorted(event["ts"] for event in begun if (event["pid"], event["tid"]) == busiest)
    run = [one for one in events if one["name"] in SCRIPTS and one["ph"] == "X" and (one["pid"], one["tid"]) == busiest]
    spent = [0.0] * (len(starts) + 1)
    ended = 0.0
    for event in sorted(run, key=lambda one: (one["ts"], -one["dur"])):
        if event["ts"] >= ended:  # else it is a part of another
            ended = event["ts"] + event["dur"]
            spent[bisect_right(starts, event["ts"])] += event.get("tdur", event["dur"]) / 1000
    return spent


def longest_task(browser: "Browser") -> float:
    """Milliseconds of the longest task of a page's main thread, on the processor's clock; ends the tracing."""
    events = json.loads(browser.stop_tracing())["traceEvents"]
    named = [event for event in events if event["name"] == "thread_name"]
    main = {(event["pid"], event["tid"]) for event in named if event["args"]["name"] == "CrRendererMain"}
    tasks = [event for event in events if event["name"] in TASKS and (event["pid"], event["tid"]) in main]
    return max((event.get("tdur", 0) / 1000 for event in tasks), default=0.0)


def summed(spent: Sequence[float]) -> dict[str, Any]:
    """Of the frames that had work."""
    busy = sorted(one for one in spent if one > 0.05)
    if not busy:
        return {"frames": len(spent), "busy_frames": 0}
    shares = {f"p{part}_ms": round(busy[int(part / 100 * (len(busy) - 1))], 2) for part in (50, 95)}
    return {"frames": len(spent), "busy_frames": len(busy), **shares, "max_ms": round(busy[-1], 2)}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(median(known), 1) if known else None

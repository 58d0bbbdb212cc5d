// The stream of the list of runs: says how many runs are new, and brings the cells of rows up to date where they stand.
// @ts-check
import { beat } from "./beat.js";
import { clock } from "./local-time.js";

const PAUSE_MILLISECONDS = 2000;
const MAX_ROWS = 8; // as many as the service gives at once
const LOST_MILLISECONDS = 4000;
const AGAIN_MILLISECONDS = 10000;
const STATES = [
  "run.started",
  "run.pausing",
  "run.paused",
  "run.resumed",
  "run.cancelled",
  "run.finished",
  "run.continued",
  "run.waiting",
  "run.unblocked",
  "budget.extended",
];
const FIGURES = ["proposal.answered", "candidate.evaluated", "best.improved"];
const KINDS = ["run.created", ...STATES, ...FIGURES];

class RunsLive {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
    this.position = list.dataset.position ?? "";
    /** @type {EventSource | null} */
    this.source = null;
    /** Runs whose rows are old, those of another state first. @type {string[]} */
    this.waiting = [];
    this.created = false;
    this.timer = 0;
    this.losing = 0;
    this.lostAt = 0;
  }

  open() {
    this.close();
    const query = new URLSearchParams({ cursor: this.position, kinds: KINDS.join(",") });
    const source = new EventSource(`/v1/events?${query}`);
    this.source = source;
    source.addEventListener("open", () => this.heal());
    source.addEventListener("error", () => this.lose());
    for (const kind of KINDS)
      source.addEventListener(kind, (event) => this.take(kind, /** @type {MessageEvent} */ (event)));
  }

  close() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.losing);
    this.losing = 0;
  }

  /** @param {string} kind @param {MessageEvent} message */
  take(kind, message) {
    this.position = message.lastEventId || this.position;
    const run = String(JSON.parse(message.data).run_id);
    if (kind === "run.created") this.created = true;
    else if (this.row(run)) {
      const known = this.waiting.indexOf(run);
      if (STATES.includes(kind)) {
        if (known >= 0) this.waiting.splice(known, 1);
        this.waiting.unshift(run);
      } else if (known < 0) this.waiting.push(run);
    }
    this.timer ||= window.setTimeout(() => void this.refresh(), PAUSE_MILLISECONDS);
  }

  /** @param {string} run */
  row(run) {
    return this.list.querySelector(`tr[data-row="${CSS.escape(run)}"]`);
  }

  async refresh() {
    if (this.created) {
      this.created = false;
      await this.count();
    }
    const runs = this.waiting.splice(0, MAX_ROWS);
    if (runs.length) beat();
    const page = runs.length ? await part(`/runs/rows?${new URLSearchParams(runs.map((run) => ["run", run]))}`) : null;
    for (const fresh of page?.querySelectorAll("tr[data-row]") ?? []) this.replace(fresh);
    this.timer =
      this.waiting.length || this.created ? window.setTimeout(() => void this.refresh(), PAUSE_MILLISECONDS) : 0;
  }

  /** Cells alone: the row, its tick and what has the focus stay. @param {Element} fresh */
  replace(fresh) {
    const row = this.row(fresh.getAttribute("data-row") ?? "");
    for (const cell of fresh.querySelectorAll("[data-cell]")) {
      const held = row?.querySelector(`[data-cell="${cell.getAttribute("data-cell")}"]`);
      if (held && held.textContent !== cell.textContent) held.replaceChildren(...cell.childNodes);
    }
  }

  async count() {
    if ("older" in this.list.dataset) return;
    const query = new URLSearchParams(this.list.dataset.filters);
    query.set("after", this.list.dataset.newest ?? "");
    const page = await part(`/runs/fresh?${query}`);
    if (page) this.list.querySelector("[data-fresh]")?.replaceChildren(...page.body.childNodes);
  }

  heal() {
    clearTimeout(this.losing);
    this.losing = 0;
    if (!this.lostAt) return;
    this.lostAt = 0;
    banner("");
  }

  /** A connection lasts some minutes and is opened again by itself; only one that stays away is worth a word. */
  lose() {
    if (!this.source || this.losing) return;
    const ended = this.source.readyState === EventSource.CLOSED;
    this.losing = window.setTimeout(() => {
      this.losing = 0;
      this.lostAt ||= Date.now();
      banner(
        `The connection to the service is lost since ${clock(this.lostAt)}. ` +
          "The page may be out of date. Trying again.",
      );
      if (ended)
        this.losing = window.setTimeout(() => {
          if (!document.hidden) this.open();
        }, AGAIN_MILLISECONDS);
    }, LOST_MILLISECONDS);
  }
}

/** A part of a page, parsed; null where there is none now. @param {string} address */
async function part(address) {
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" } });
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  } catch {
    return null; // the stream says that the service is away
  }
}

/** @param {string} words */
function banner(words) {
  const found = document.querySelector("[data-banner]");
  if (!(found instanceof HTMLElement)) return;
  found.hidden = !words;
  found.textContent = words;
}

const list = document.querySelector("[data-runs]");
if (list instanceof HTMLElement) {
  const live = new RunsLive(list);
  live.open();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) live.close();
    else live.open();
  });
  window.addEventListener("pagehide", () => live.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) live.open();
  });
}

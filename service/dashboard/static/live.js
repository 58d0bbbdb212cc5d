// The one stream of a page about a run: it tells the page in events of the document what is new, and heals itself.
//   evolve:news   something was evaluated or changed; detail: {sequence, kinds}
//   evolve:best   there is a new best; detail: {candidate_id, fitness}
//   evolve:state  the run's state may be another
// @ts-check
import { beat } from "./beat.js";
import { clock } from "./local-time.js";
import { number } from "./numbers.js";
import { asScore } from "./score.js";

const FRAME_MILLISECONDS = 250;
const FIRST_WAIT = 1000;
const MAX_WAIT = 15000;
const QUIET_MILLISECONDS = 20_000; // without news after which the page asks whether the service lives
const LOOK_MILLISECONDS = 5000;
const STATES = new Set([
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
]);

class Live {
  /** @param {string} run @param {number} sequence */
  constructor(run, sequence) {
    this.run = run;
    this.sequence = sequence;
    /** @type {Set<string>} */
    this.kinds = new Set();
    /** @type {EventSource | null} */
    this.source = null;
    this.wait = FIRST_WAIT;
    this.lostAt = 0;
    this.timer = 0;
    this.heardAt = Date.now();
    this.watch = 0;
  }

  open() {
    this.close();
    this.heardAt = Date.now();
    this.watch = window.setInterval(() => void this.look(), LOOK_MILLISECONDS);
    const source = new EventSource(`/v1/runs/${this.run}/events?after=${this.sequence}`);
    this.source = source;
    source.addEventListener("open", () => this.heal());
    source.addEventListener("error", () => this.lose());
    source.addEventListener("end", () => this.finish());
    for (const kind of KINDS)
      source.addEventListener(kind, (event) => this.take(kind, /** @type {MessageEvent} */ (event)));
  }

  close() {
    this.source?.close();
    this.source = null;
    window.clearInterval(this.watch);
  }

  /** Lets the page show how the run ended: what was asked before its last event says less. */
  finish() {
    this.close();
    this.frame();
    tell("evolve:state", { kind: "" });
  }

  /** Asks whether the service lives, where nothing was heard of it for long: a connection may hang without an error. */
  async look() {
    if (Date.now() - this.heardAt < QUIET_MILLISECONDS) return;
    try {
      const answer = await fetch("/healthz", { signal: AbortSignal.timeout(LOOK_MILLISECONDS) });
      if (answer.ok) this.hear();
    } catch {
      this.lostAt ||= this.heardAt;
      banner(`No news since ${clock(this.heardAt)}: the service does not answer. The page may be out of date.`);
    }
  }

  hear() {
    this.heardAt = Date.now();
    if (this.lostAt) this.heal();
  }

  /** @param {string} kind @param {MessageEvent} message */
  take(kind, message) {
    this.sequence = Number(message.lastEventId) || this.sequence;
    this.hear();
    this.kinds.add(kind);
    if (kind === "best.improved") {
      const told = JSON.parse(message.data);
      say(`New best: ${number(asScore(told.fitness))}`);
      tell("evolve:best", told);
    }
    if (STATES.has(kind)) tell("evolve:state", { kind });
    if (!this.timer) this.timer = window.setTimeout(() => this.frame(), FRAME_MILLISECONDS);
  }

  frame() {
    this.timer = 0;
    const kinds = [...this.kinds];
    this.kinds.clear();
    beat();
    tell("evolve:news", { sequence: this.sequence, kinds });
  }

  heal() {
    this.wait = FIRST_WAIT;
    if (!this.lostAt) return;
    this.lostAt = 0;
    banner("");
    tell("evolve:news", { sequence: this.sequence, kinds: [] });
    tell("evolve:state", { kind: "" });
  }

  lose() {
    if (!this.source) return;
    this.close();
    this.lostAt ||= Date.now();
    banner(
      `The connection to the service is lost since ${clock(this.lostAt)}. ` +
        "The page may be out of date. Trying again.",
    );
    window.setTimeout(() => {
      if (!document.hidden) this.open();
    }, this.wait);
    this.wait = Math.min(2 * this.wait, MAX_WAIT);
  }
}

const KINDS = [
  "run.created",
  ...STATES,
  "policy.unavailable",
  "policy.recovered",
  "policy.adapted",
  "proposal.created",
  "proposal.answered",
  "proposal.failed",
  "candidate.created",
  "candidate.rejected",
  "candidate.duplicate",
  "candidate.evaluated",
  "candidate.reevaluated",
  "run.closing",
  "hint.given",
  "program.inserted",
  "insights.written",
  "policy.updated",
  "candidate.banned",
  "ban.lifted",
  "priority.given",
  "priority.lifted",
  "settings.changed",
  "change.refused",
  "holdout.scored",
  "audit.scored",
  "individual.inserted",
  "individuals.removed",
  "best.improved",
  "island.migrated",
  "island.reset",
];

/** @param {string} name @param {object} detail */
function tell(name, detail) {
  document.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
}

/** @param {string} words */
function banner(words) {
  const found = document.querySelector("[data-banner]");
  if (!(found instanceof HTMLElement)) return;
  found.hidden = !words;
  found.textContent = words;
}

/** @param {string} words */
function say(words) {
  const found = document.querySelector("[data-announcer]");
  if (found) found.textContent = words;
}

let troubled = 0;
document.addEventListener("evolve:trouble", () => {
  if (troubled) return;
  banner("The service did not give the numbers of a chart. It shows older ones. Trying again.");
  troubled = window.setTimeout(() => {
    troubled = 0;
    tell("evolve:news", { sequence: 0, kinds: [] });
  }, LOOK_MILLISECONDS);
});
document.addEventListener("evolve:answered", () => {
  if (troubled) banner("");
});

const page = document.querySelector("[data-run]");
if (page instanceof HTMLElement && !("ended" in page.dataset)) {
  const live = new Live(page.dataset.run ?? "", Number(page.dataset.sequence));
  live.open();
  // A page that nobody sees needs no connection: browsers have six for each host.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) live.close();
    else live.open();
  });
  window.addEventListener("pagehide", () => live.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) live.open();
  });
}

// The evaluations of a run as columns: fetched once, then only what came since; charts of a page share them.
// An address with `points` gives so many of a long run, about; what comes later is added whole.
// @ts-check

import { drawn } from "./frames.js";

/**
 * @typedef {object} Front over time: of each evaluation when it was dominated (-1: never, null: it was never on it)
 * @property {(number | null)[]} until
 * @property {number[]} counts
 * @property {number[]} sizes
 * @property {number[]} ended
 * @property {number[]} ended_by
 */
/**
 * @typedef {object} Columns
 * @property {number} total
 * @property {number} begin
 * @property {number} sequence
 * @property {boolean} sampled
 * @property {string[]} objectives
 * @property {string[]} outcomes
 * @property {string[]} operators
 * @property {string[]} policies
 * @property {number[]} place
 * @property {number[]} proposal_number
 * @property {number[]} position
 * @property {number[]} island
 * @property {(number | null)[]} fitness
 * @property {number[]} outcome
 * @property {number[]} parent
 * @property {number[]} operator
 * @property {number[]} policy
 * @property {number[]} seconds
 * @property {(number | null)[][]} rewards
 * @property {{kind: string, place: number, at: string, from_island: number | null, to_island: number | null}[]} marks
 * @property {Front | null} front null where the address does not ask for it
 */

const SERIES = /** @type {const} */ ([
  "place",
  "proposal_number",
  "position",
  "island",
  "fitness",
  "outcome",
  "parent",
  "operator",
  "policy",
  "seconds",
]);
const CODED = /** @type {const} */ ([
  ["outcome", "outcomes"],
  ["operator", "operators"],
  ["policy", "policies"],
]);

const REST_SHARE = 32;

export class Store extends EventTarget {
  /** @param {string} address */
  constructor(address) {
    super();
    this.address = address;
    /** @type {Columns | null} */
    this.columns = null;
    this.busy = false;
    this.again = false;
    /** Milliseconds until the next refresh: a chart at work draws for three hundredths of the time at most. */
    this.rest = 0;
  }

  /** Fetches what is new; whoever listens hears `change`. */
  async refresh() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      const asked = new URL(this.address, location.href);
      asked.searchParams.set("after", String(this.columns?.total ?? 0));
      const answer = await fetch(asked, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const fresh = await answer.json();
      const began = performance.now();
      this.take(fresh);
      this.dispatchEvent(new Event("change"));
      await drawn();
      this.rest = REST_SHARE * (performance.now() - began);
      document.dispatchEvent(new Event("evolve:answered"));
    } catch (error) {
      document.dispatchEvent(new CustomEvent("evolve:trouble", { detail: { reason: String(error) } }));
    } finally {
      window.setTimeout(() => this.free(), this.rest);
    }
  }

  /** Ends the rest after what was drawn; news that came meanwhile is fetched at once. */
  free() {
    this.busy = false;
    if (!this.again) return;
    this.again = false;
    void this.refresh();
  }

  /** @param {Columns} fresh */
  take(fresh) {
    const held = this.columns;
    if (!held) {
      this.columns = fresh;
      return;
    }
    for (const [column, names] of CODED) {
      const codes = fresh[names].map((name) => {
        const at = held[names].indexOf(name);
        return at < 0 ? held[names].push(name) - 1 : at;
      });
      fresh[column] = fresh[column].map((code) => codes[code]);
    }
    for (const name of SERIES) append(/** @type {unknown[]} */ (held[name]), fresh[name]);
    for (const [at, column] of held.rewards.entries()) append(column, fresh.rewards[at]);
    held.marks = [...held.marks.filter((one) => one.place < fresh.begin), ...fresh.marks];
    if (held.front && fresh.front) takeFront(held, fresh.front);
    held.total = fresh.total;
    held.sequence = fresh.sequence;
  }
}

/** @param {Columns} held @param {Front} fresh */
function takeFront(held, fresh) {
  const front = /** @type {Front} */ (held.front);
  const ended = new Map(fresh.ended.map((place, at) => [place, fresh.ended_by[at]]));
  if (ended.size) front.until = front.until.map((until, at) => ended.get(held.place[at]) ?? until);
  append(front.until, fresh.until);
  front.counts = fresh.counts;
  front.sizes = fresh.sizes;
}

/** @template T @param {T[]} held @param {T[]} fresh */
function append(held, fresh) {
  for (const value of fresh) held.push(value);
}

/** @type {Map<string, Store>} */
const stores = new Map();

/** The store of an address; it follows the run while the page does. @param {string} address */
export function storeOf(address) {
  let store = stores.get(address);
  if (!store) {
    const made = new Store(address);
    store = made;
    stores.set(address, made);
    document.addEventListener("evolve:news", () => void made.refresh());
    void made.refresh();
  }
  return store;
}

// <diversity-curves data-metrics data-src>: how different evaluations are, over time; distances of each island as well.
// @ts-check
import { chartData } from "./chart-data.js";
import { storeOf } from "./columns.js";
import { inTurn } from "./frames.js";
import { colour, islandColour, onTheme } from "./palette.js";
import { SmallPlot } from "./small-plot.js";

const REFRESH_MILLISECONDS = 2000;
const WINDOW = 50;
const POINTS = 60;
const MAX_ISLANDS = 8;
/** Islands are told apart by their dashes, too. */
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4], [4, 2, 1, 2], [3, 5]];

/**
 * @typedef {object} Point
 * @property {number} evaluations
 * @property {number | null} distinct_share
 * @property {number | null} reward_distance
 * @property {number} duplicate_share
 * @property {number} rejected_share
 * @property {number} island_entropy
 * @property {number} outcome_entropy
 */

class DiversityCurves extends HTMLElement {
  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    const multiples = document.createElement("div");
    multiples.className = "multiples wide";
    this.replaceChildren(multiples);
    this.plots = [
      "Distinct reward vectors",
      "Distance between reward vectors",
      "Duplicates and rejected",
      "Entropy in bits",
    ].map((title) => new SmallPlot(multiples, title, "diversity"));
    /** @type {Point[]} */
    this.points = [];
    this.timer = 0;
    this.store.addEventListener("change", () => this.later());
    this.news = () => {
      this.timer ||= window.setTimeout(() => {
        this.timer = 0;
        void this.refresh();
      }, REFRESH_MILLISECONDS);
    };
    document.addEventListener("evolve:news", this.news);
    this.resize = new ResizeObserver(() => {
      for (const plot of this.plots ?? []) plot.fit();
    });
    this.resize.observe(this);
    onTheme(() => {
      for (const plot of this.plots ?? []) plot.forget();
      this.later();
    });
    void this.refresh();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    window.clearTimeout(this.timer);
    if (this.news) document.removeEventListener("evolve:news", this.news);
    for (const plot of this.plots ?? []) plot.forget();
  }

  async refresh() {
    const found = await chartData(this, this.dataset.metrics ?? "", () => void this.refresh());
    if (!found) return; // the next news asks again
    this.points = found.points;
    this.later();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const { points, plots } = this;
    const columns = this.store?.columns;
    if (!points?.length || !plots || !columns || !this.isConnected) return;
    const xs = points.map((point) => point.evaluations);
    const end = xs[xs.length - 1];
    const accent = colour("accent");
    const warn = colour("warn");
    plots[0].show(
      xs,
      [{ name: "share", stroke: accent, width: 2, values: points.map((point) => point.distinct_share) }],
      end,
      [0, 1.02],
    );
    plots[1].show(
      xs,
      [
        { name: "all", stroke: accent, width: 2, values: points.map((point) => point.reward_distance) },
        ...islandLines(columns, xs),
      ],
      end,
      null,
    );
    plots[2].show(
      xs,
      [
        { name: "duplicates", stroke: warn, width: 2, values: points.map((point) => point.duplicate_share) },
        { name: "rejected", stroke: colour("bad"), dash: [5, 3], values: points.map((point) => point.rejected_share) },
      ],
      end,
      null,
    );
    plots[3].show(
      xs,
      [
        { name: "islands", stroke: accent, width: 2, values: points.map((point) => point.island_entropy) },
        { name: "outcomes", stroke: colour("bad"), dash: [5, 3], values: points.map((point) => point.outcome_entropy) },
      ],
      end,
      null,
    );
    this.dataset.shown = String(end);
  }
}

/**
 * The distances of each island, where there are several and not too many.
 * @param {import("./columns.js").Columns} columns
 * @param {number[]} xs
 * @returns {import("./small-plot.js").Line[]}
 */
function islandLines(columns, xs) {
  const islands = [...new Set(columns.island)].sort((a, b) => a - b);
  if (islands.length < 2 || islands.length > MAX_ISLANDS) return [];
  return islands.map((island) => ({
    name: `island ${island}`,
    stroke: islandColour(island),
    width: 1,
    dash: DASHES[island % DASHES.length],
    values: distancesOf(columns, island, xs),
  }));
}

/**
 * The mean distance between the last reward vectors of an island after so many evaluations; null in between, so that
 * a long axis costs no more than a short one.
 * @param {import("./columns.js").Columns} columns
 * @param {number} island
 * @param {number[]} xs
 * @returns {(number | null)[]}
 */
export function distancesOf(columns, island, xs) {
  const rewards = columns.rewards.length ? columns.rewards : [columns.fitness];
  const every = Math.ceil(xs.length / POINTS);
  /** @type {number[]} */ const held = [];
  let at = 0;
  return xs.map((count, place) => {
    for (; at < Math.min(count, columns.place.length); at += 1) {
      if (columns.island[at] === island && columns.fitness[at] !== null) held.push(at);
    }
    return place % every && place !== xs.length - 1 ? null : meanDistance(rewards, held.slice(-WINDOW));
  });
}

/** @param {(number | null)[][]} rewards columns @param {number[]} places */
function meanDistance(rewards, places) {
  let sum = 0;
  let pairs = 0;
  for (let a = 0; a < places.length; a += 1) {
    for (let b = 0; b < a; b += 1) {
      let square = 0;
      for (const column of rewards) square += (Number(column[places[a]]) - Number(column[places[b]])) ** 2;
      sum += Math.sqrt(square);
      pairs += 1;
    }
  }
  return pairs && Number.isFinite(sum) ? sum / pairs : null;
}

customElements.define("diversity-curves", DiversityCurves);

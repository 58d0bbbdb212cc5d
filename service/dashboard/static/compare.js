// <compare-curve data-axis data-by data-sign data-runs>: the best so far of several runs over one axis, with the
// range of their groups.
// @ts-check
import { across, upwards } from "./axes.js";
import { lineSample } from "./line-sample.js";
import { number } from "./numbers.js";
import { islandColour, onTheme } from "./palette.js";

const HEIGHT = 360;
const POINTS = 400;
const MAX_LINES = 6; // of runs beside one another; of more the groups are drawn alone
const DASHES = [[], [10, 4], [3, 3], [12, 3, 3, 3], [6, 6], [2, 6]];
const LABELS = {
  evaluations: "Evaluations",
  tokens: "Tokens read and written",
  money: "Money spent",
  time: "Seconds since the first evaluation",
};

/** @typedef {{id: string, title: string}} Run */
/** @typedef {(number | null)[]} Values */
/** @typedef {{title: string, run_ids: string[], seeds: number[], mean: Values, low: Values, high: Values}} Group */
/** @typedef {{axis: number[], runs: {best: Values}[], groups: Group[]}} Compared */
/** @typedef {"run" | "mean" | "low" | "high"} Role */
/** @typedef {{label: string, xs: number[], ys: Values, place: number, role: Role}} Line */

class CompareCurve extends HTMLElement {
  connectedCallback() {
    /** @type {Run[]} */
    this.runs = JSON.parse(this.dataset.runs ?? "[]");
    this.axis = /** @type {keyof LABELS} */ (this.dataset.axis ?? "evaluations");
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.plot, this.legend);
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => this.draw());
    void this.load();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    this.chart?.destroy();
  }

  async load() {
    try {
      const lines = await this.compared();
      /** @type {Line[]} */
      this.lines = lines.filter((line) => line.ys.some((value) => value !== null));
      this.draw();
    } catch {
      if (this.plot)
        this.plot.textContent = "The service did not give the numbers of this chart: reload the page to try again.";
    }
  }

  /** @returns {Promise<Line[]>} */
  async compared() {
    const runs = /** @type {Run[]} */ (this.runs ?? []);
    const query = new URLSearchParams({
      runs: runs.map((run) => run.id).join(","),
      points: String(POINTS),
      over: this.axis ?? "evaluations",
      by: this.dataset.by ?? "",
    });
    const told = await read(`/v1/compare?${query}`);
    const groups = told.groups.filter((group) => group.run_ids.length > 1 || runs.length > MAX_LINES);
    const lines = runs.map((run, at) => ({
      label: run.title,
      xs: told.axis,
      ys: this.signed(told.runs[at].best),
      place: at,
      role: /** @type {const} */ ("run"),
    }));
    const kept = runs.length > MAX_LINES && groups.length ? [] : lines;
    return [
      ...kept,
      ...groups.flatMap((group, at) => {
        const place = kept.length + at;
        const line = (/** @type {"mean" | "low" | "high"} */ role, /** @type {string} */ label) => ({
          label,
          xs: told.axis,
          ys: this.signed(group[role]),
          place,
          role,
        });
        return [
          line("mean", `${group.title}: mean of seeds ${group.seeds.join(", ")}, with their range`),
          line("high", ""),
          line("low", ""),
        ];
      }),
    ];
  }

  /** Values as scores of the objective. @param {Values} values @returns {Values} */
  signed(values) {
    const sign = Number(this.dataset.sign ?? 1);
    return values.map((value) => (value === null ? null : sign * value || 0));
  }

  draw() {
    const lines = /** @type {Line[]} */ (this.lines ?? []);
    this.chart?.destroy();
    this.chart = undefined;
    if (!lines.length || !this.isConnected) return;
    const data = uPlot.join(lines.map((line) => [line.xs, line.ys]));
    this.chart = new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false } },
        scales: { x: { time: false } },
        axes: [across({ label: LABELS[this.axis ?? "evaluations"], whole: this.axis === "evaluations" }), upwards()],
        series: [{}, ...lines.map(stroke)],
        bands: lines.flatMap((line, at) =>
          line.role === "high" ? [{ series: [at + 1, at + 2], fill: fade(islandColour(line.place)) }] : [],
        ),
        hooks: { setCursor: [(chart) => this.list(chart.cursor.idx)] },
      },
      data,
      this.plot,
    );
    this.list(null);
    this.dataset.shown = String(lines.length);
  }

  /** The legend, with the values at a point where there is one. @param {number | null | undefined} at */
  list(at) {
    const told = (this.lines ?? []).map((line, place) => ({ line, place })).filter(({ line }) => line.label);
    this.legend?.replaceChildren(
      ...told.map(({ line, place }) => {
        const item = document.createElement("li");
        const value = at === null || at === undefined ? null : this.until(place + 1, at);
        const mark = line.role === "run" ? `#${line.place + 1} ` : "";
        item.append(
          lineSample(islandColour(line.place), DASHES[line.place % DASHES.length], line.role === "mean" ? 4 : 2),
          ` ${mark}${line.label}${value === null ? "" : `: ${number(value)}`}`,
        );
        return item;
      }),
    );
  }

  /**
   * The value of a series at a point of the common axis, or the last before it.
   * @param {number} series
   * @param {number} at
   */
  until(series, at) {
    const values = this.chart?.data[series] ?? [];
    for (let place = at; place >= 0; place -= 1)
      if (values[place] !== null && values[place] !== undefined) return values[place];
    return null;
  }
}

/** @param {Line} line */
function stroke(line) {
  const paint = islandColour(line.place);
  const paths = uPlot.paths.stepped?.({ align: 1 });
  if (line.role === "low" || line.role === "high")
    return { stroke: "transparent", paths, spanGaps: true, points: { show: false } };
  return {
    label: line.label,
    stroke: paint,
    width: line.role === "mean" ? 3 : 2,
    dash: DASHES[line.place % DASHES.length],
    paths,
    spanGaps: true,
    points: { show: false },
  };
}

/** @param {string} paint */
function fade(paint) {
  return `${paint}2e`;
}

/** @param {string} address @returns {Promise<Compared>} */
async function read(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} of ${address}`);
  return answer.json();
}

customElements.define("compare-curve", CompareCurve);

// <compare-curve data-axis data-runs>: the best so far of several runs over one axis, with the range of their groups.
// @ts-check
import { lineSample } from "./line-sample.js";
import { colour, islandColour, onTheme, short } from "./palette.js";

const HEIGHT = 360;
const POINTS = 400;
const DASHES = [[], [10, 4], [3, 3], [12, 3, 3, 3], [6, 6], [2, 6]];
const LABELS = { evaluations: "Evaluations", tokens: "Tokens read and written", money: "Money spent", time: "Seconds since the first evaluation" };

/** @typedef {{id: string, title: string}} Run */
/** @typedef {{label: string, xs: number[], ys: (number | null)[], place: number, role: "run" | "mean" | "low" | "high"}} Line */

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
      const lines = this.axis === "evaluations" ? await this.compared() : await Promise.all((this.runs ?? []).map((run, at) => this.measured(run, at)));
      /** @type {Line[]} */
      this.lines = lines.filter((line) => line.xs.length);
      this.draw();
    } catch {
      if (this.plot) this.plot.textContent = "The service did not give the numbers of this chart: reload the page to try again.";
    }
  }

  /** @returns {Promise<Line[]>} */
  async compared() {
    const runs = this.runs ?? [];
    const told = await read(`/v1/compare?runs=${runs.map((run) => encodeURIComponent(run.id)).join(",")}&points=${POINTS}`);
    const lines = runs.map((run, at) => ({ label: run.title, xs: told.axis, ys: told.runs[at].best, place: at, role: /** @type {const} */ ("run") }));
    const groups = told.groups.flatMap((/** @type {any} */ group, /** @type {number} */ at) => {
      const place = runs.length + at;
      const line = (/** @type {"mean" | "low" | "high"} */ role, /** @type {string} */ label) => ({ label, xs: told.axis, ys: group[role], place, role });
      return [line("mean", `mean of seeds ${group.seeds.join(", ")}, with their range`), line("high", ""), line("low", "")];
    });
    return [...lines, ...groups];
  }

  /** @param {Run} run @param {number} at @returns {Promise<Line>} */
  async measured(run, at) {
    const told = await read(`/v1/runs/${encodeURIComponent(run.id)}/metrics?points=${POINTS}`);
    const points = told.points.filter((/** @type {any} */ point) => this.axis !== "money" || point.cost !== null);
    const begin = points.length ? Date.parse(points[0].at) : 0;
    const places = {
      tokens: (/** @type {any} */ point) => point.tokens_input + point.tokens_output,
      money: (/** @type {any} */ point) => Number.parseFloat(point.cost),
      time: (/** @type {any} */ point) => (Date.parse(point.at) - begin) / 1000,
    };
    const xs = points.map(places[/** @type {keyof typeof places} */ (this.axis)]);
    const ys = points.map((/** @type {any} */ point) => point.best_fitness);
    // Of points at one place of the axis the last one holds.
    const kept = xs.map((/** @type {number} */ _, /** @type {number} */ place) => place).filter((/** @type {number} */ place) => xs[place] !== xs[place + 1]);
    return { label: run.title, xs: kept.map((/** @type {number} */ place) => xs[place]), ys: kept.map((/** @type {number} */ place) => ys[place]), place: at, role: "run" };
  }

  draw() {
    const lines = this.lines ?? [];
    this.chart?.destroy();
    this.chart = undefined;
    if (!lines.length || !this.isConnected) return;
    // @ts-expect-error uPlot is a script of its own
    const data = uPlot.join(lines.map((line) => [line.xs, line.ys]));
    const axis = { stroke: colour("soft"), grid: { stroke: colour("sunk"), width: 1 }, ticks: { stroke: colour("line") }, font: "12px system-ui" };
    // @ts-expect-error uPlot is a script of its own
    this.chart = new uPlot({
      width: this.clientWidth || 600,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false } },
      axes: [{ ...axis, label: LABELS[this.axis ?? "evaluations"], labelSize: 18, values: (/** @type {unknown} */ _, /** @type {number[]} */ ticks) => ticks.map(short) }, { ...axis, size: 72 }],
      series: [{}, ...lines.map(stroke)],
      bands: lines.flatMap((line, at) => line.role === "high" ? [{ series: [at + 1, at + 2], fill: fade(islandColour(line.place)) }] : []),
      hooks: { setCursor: [(/** @type {any} */ chart) => this.list(chart.cursor.idx)] },
    }, data, this.plot);
    this.list(null);
    this.dataset.shown = String(lines.length);
  }

  /** The legend, with the values at a point where there is one. @param {number | null | undefined} at */
  list(at) {
    const told = (this.lines ?? []).map((line, place) => ({ line, place })).filter(({ line }) => line.label);
    this.legend?.replaceChildren(...told.map(({ line, place }) => {
      const item = document.createElement("li"), value = at === null || at === undefined ? null : this.until(place + 1, at);
      item.append(lineSample(islandColour(line.place), DASHES[line.place % DASHES.length], line.role === "mean" ? 4 : 2), ` ${line.role === "run" ? `#${line.place + 1} ` : ""}${line.label}${value === null ? "" : `: ${short(value)}`}`);
      return item;
    }));
  }

  /** The value of a series at a point of the common axis, or the last before it. @param {number} series @param {number} at */
  until(series, at) {
    const values = /** @type {(number | null | undefined)[]} */ (this.chart.data[series]);
    for (let place = at; place >= 0; place -= 1) if (values[place] !== null && values[place] !== undefined) return values[place];
    return null;
  }
}

/** @param {Line} line */
function stroke(line) {
  const paint = islandColour(line.place);
  // @ts-expect-error uPlot is a script of its own
  const paths = uPlot.paths.stepped({ align: 1 });
  if (line.role === "low" || line.role === "high") return { stroke: "transparent", paths, spanGaps: true, points: { show: false } };
  return { label: line.label, stroke: paint, width: line.role === "mean" ? 3 : 2, dash: DASHES[line.place % DASHES.length], paths, spanGaps: true, points: { show: false } };
}

/** @param {string} paint */
function fade(paint) {
  return `${paint}2e`;
}

/** @param {string} address @returns {Promise<any>} */
async function read(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} of ${address}`);
  return answer.json();
}

customElements.define("compare-curve", CompareCurve);

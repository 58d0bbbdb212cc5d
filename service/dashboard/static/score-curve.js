// <score-curve data-src data-run data-sign data-known>: best so far, each candidate as a mark of its island, failures
// in a gutter, and events of the run. Scores are those of the objective: `data-sign` is -1 where smaller ones are
// better.
// @ts-check
import { chosen, keep } from "./address.js";
import { across, unitOf, upwards } from "./axes.js";
import { nameOf, placeOf } from "./candidate-name.js";
import { Tip } from "./canvas-chart.js";
import { storeOf } from "./columns.js";
import { inTurn } from "./frames.js";
import { inspect, inspected, onInspected } from "./inspect.js";
import { distances } from "./known-best.js";
import { MarkWalk } from "./mark-walk.js";
import { recordsOf } from "./records.js";
import { number } from "./numbers.js";
import { FAILURE, colour, entry, islandColour, islandShape, onTheme, ring } from "./palette.js";
import { Stamps } from "./stamps.js";

const HEIGHT = 340;
const GUTTER = 0.08;
const DOUBLE_CLICK_MILLISECONDS = 250;
const SCALES = { linear: "linear", log: "logarithmic", gap: "distance to the best known, logarithmic" };
const MARKS = {
  "island.migrated": "⇄",
  "island.reset": "↺",
  "run.paused": "‖",
  "run.resumed": "▸",
  "budget.extended": "+",
  "hint.given": "!",
  "program.inserted": "✎",
  "candidate.banned": "⊘",
  "ban.lifted": "○",
  "priority.given": "↑",
  "priority.lifted": "↓",
  "settings.changed": "⚙",
};

/** @typedef {"linear" | "log" | "gap"} Scale */

class ScoreCurve extends HTMLElement {
  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    this.sign = Number(this.dataset.sign ?? 1);
    this.known = this.dataset.known ? Number(this.dataset.known) : null;
    this.unit = 1;
    /** @type {(number | null)[]} */
    this.shown = [];
    this.zoom = zoomed(chosen("from"), chosen("to"));
    /** @type {Scale} */
    this.scale = SCALES[/** @type {Scale} */ (chosen("scale"))] ? /** @type {Scale} */ (chosen("scale")) : "linear";
    this.choice = document.createElement("p");
    this.choice.className = "choice";
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.tip = new Tip();
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.choice, this.plot, this.legend);
    this.store.addEventListener("change", () => this.later());
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => this.anew());
    onInspected(() => this.chart?.redraw(false));
    new MarkWalk(this.plot, "Scores of the candidates that set a record", {
      order: () => this.records(),
      first: () => this.records().at(-1),
      show: (at) => this.pointTo(at),
      open: (at) => this.open(at, true),
      leave: () => this.tip?.hide(),
    });
    if (this.store.columns) this.later();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    this.chart?.destroy();
  }

  anew() {
    this.chart?.destroy();
    this.chart = undefined;
    this.later();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const columns = this.store?.columns;
    if (!columns?.place.length || !this.isConnected) return;
    const sign = this.sign ?? 1;
    const scores = columns.fitness.map((value) => (value === null ? null : sign * value || 0));
    this.offer(scores);
    let best = -Infinity;
    const line = columns.fitness.map((value) => {
      if (value !== null && value > best) best = value;
      return best === -Infinity ? null : sign * best || 0;
    });
    const [steps, dots] = [line, scores].map((values) => this.scaled(values, scores));
    this.unit = unitOf(dots);
    this.shown = dots.map((value) => this.drawn(value));
    /** @type {uPlot.AlignedData} */
    const data = [columns.place.map((place) => place + 1), steps.map((value) => this.drawn(value)), this.shown];
    if (this.chart) this.chart.setData(data);
    else this.chart = this.make(data);
    this.dataset.shown = String(columns.total);
    this.list(columns);
    this.summarise(columns, line);
  }

  /**
   * Writes the numbers of the chart's summary as they are now.
   * @param {import("./columns.js").Columns} columns
   * @param {(number | null)[]} line
   */
  summarise(columns, line) {
    const summary = this.closest("figure")?.querySelector(".summary");
    const write = (/** @type {string} */ name, /** @type {string} */ text) => {
      const found = summary?.querySelector(`[data-${name}]`);
      if (found) found.textContent = text;
    };
    const seeds = columns.proposal_number.findIndex((number) => number > 0);
    write("best", number(line[line.length - 1]));
    write("evaluated", `${number(columns.total)} evaluation${columns.total === 1 ? "" : "s"}`);
    write("seed", number(line[(seeds < 0 ? columns.proposal_number.length : seeds) - 1] ?? null));
  }

  /** A value in the unit of the chart. @param {number | null} value */
  drawn(value) {
    return value === null ? null : value / (this.unit ?? 1);
  }

  /**
   * Values on the chosen scale: scores, or how far they are from the best that is known.
   * @param {(number | null)[]} values
   * @param {(number | null)[]} scores
   */
  scaled(values, scores) {
    if (this.scale !== "gap" || this.known === null || this.known === undefined) return values;
    return distances(values, scores, this.known, this.sign ?? 1);
  }

  /** Offers the scales that these scores have. @param {(number | null)[]} scores */
  offer(scores) {
    const found = Object.keys(SCALES).filter((scale) => {
      if (scale === "log") return scores.every((value) => value === null || value > 0);
      return scale === "linear" || (this.known !== null && this.known !== undefined);
    });
    if (!found.includes(this.scale ?? "")) this.scale = "linear";
    const names = `${found.join(" ")}${this.zoom ? " zoomed" : ""}`;
    if (this.dataset.scales === names) return;
    this.dataset.scales = names;
    this.choice?.replaceChildren(
      ...(found.length > 1 ? [this.select(found)] : []),
      ...(this.zoom ? [this.wholeButton()] : []),
    );
  }

  wholeButton() {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "quiet";
    made.textContent = "Show all evaluations";
    made.addEventListener("click", () => this.enlarge(null));
    return made;
  }

  /** @param {string[]} scales */
  select(scales) {
    const label = document.createElement("label");
    const made = document.createElement("select");
    for (const scale of scales)
      made.add(new Option(SCALES[/** @type {Scale} */ (scale)], scale, false, scale === this.scale));
    made.addEventListener("change", () => {
      this.scale = /** @type {Scale} */ (made.value);
      keep({ scale: this.scale === "linear" ? "" : this.scale });
      this.anew();
    });
    label.append("Scale ", made);
    return label;
  }

  /** @param {uPlot.AlignedData} data */
  make(data) {
    const plot = /** @type {HTMLElement} */ (this.plot);
    const log = this.scale !== "linear";
    const chart = new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, points: { show: false } },
        scales: {
          x: { time: false, range: (_, low, high) => this.zoom ?? [low, high] },
          y: { ...(log ? { distr: 3 } : {}), range: (chart, low, high) => this.range(chart, low, high) },
        },
        axes: [across({ label: "Evaluations", whole: true }), upwards({ log, unit: () => this.unit ?? 1 })],
        series: [
          {},
          { stroke: colour("accent"), width: 2, paths: stepped(), points: { show: false } },
          { stroke: "transparent", paths: () => null, points: { show: false } },
        ],
        hooks: {
          draw: [(chart) => this.dots(chart)],
          setCursor: [(chart) => this.point(chart)],
          setSelect: [(chart) => this.chooseRange(chart)],
        },
      },
      data,
      plot,
    );
    if (this.tip) chart.over.append(this.tip.element);
    // A click opens a candidate unless a second one follows, which shows the whole run again.
    let opening = 0;
    chart.over.addEventListener("click", () => {
      window.clearTimeout(opening);
      opening = window.setTimeout(() => this.open(this.at ?? null, false), DOUBLE_CLICK_MILLISECONDS);
    });
    const whole = () => {
      window.clearTimeout(opening);
      this.enlarge(null);
    };
    chart.over.addEventListener("dblclick", whole, { capture: true });
    return chart;
  }

  /** Keeps the range that was drawn with the mouse, also while the run goes on. @param {uPlot} chart */
  chooseRange(chart) {
    const { left, width } = chart.select;
    if (width > 0) this.enlarge([chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]);
  }

  /** @param {[number, number] | null} range of evaluations; null: all */
  enlarge(range) {
    this.zoom = range;
    keep({ from: range ? String(Math.round(range[0])) : "", to: range ? String(Math.round(range[1])) : "" });
    this.later();
  }

  /**
   * Room for most of the dots in sight: what is far worse than the others would press them flat.
   * @param {uPlot} chart
   * @param {number} low
   * @param {number} high
   * @returns {uPlot.Range.MinMax}
   */
  range(chart, low, high) {
    const [from, to] = this.zoom ?? [-Infinity, Infinity];
    const places = chart.data[0];
    const seen = (this.shown ?? []).filter((value, at) => value !== null && places[at] >= from && places[at] <= to);
    const values = /** @type {number[]} */ (seen).sort((one, other) => one - other);
    if (!values.length) return [low ?? 0, high ?? 1];
    const rest = Math.floor(0.02 * (values.length - 1));
    const fewer = (this.sign ?? 1) < 0 || this.scale === "gap"; // smaller values are better
    const [bottom, top] = fewer
      ? [values[0], values[values.length - 1 - rest]]
      : [values[rest], values[values.length - 1]];
    if (this.scale !== "linear") {
      const factor = Math.max(top / bottom, 1.1) ** 0.06;
      return [bottom / Math.max(top / bottom, 1.1) ** (GUTTER + 0.06), top * factor];
    }
    const span = top - bottom || Math.abs(top) || 1;
    return [bottom - (GUTTER + 0.06) * span, top + 0.06 * span];
  }

  /** @param {uPlot} chart */
  dots(chart) {
    const columns = this.store?.columns;
    if (!columns) return;
    const pen = chart.ctx;
    const { left, top, width, height } = chart.bbox;
    const stamps = new Stamps(2.4 * devicePixelRatio, devicePixelRatio, 1);
    const foot = top + height - 0.5 * GUTTER * height;
    const shown = { left, right: left + width };
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    for (let at = 0; at < columns.place.length; at += 1) {
      const x = chart.valToPos(columns.place[at] + 1, "x", true);
      const value = this.shown?.[at] ?? null;
      if (x < shown.left || x > shown.right) continue;
      const island = columns.island[at];
      pen.globalAlpha = value === null ? 0.8 : 0.65;
      if (value === null) stamps.put(pen, FAILURE, colours.bad, x, foot);
      else {
        const y = Math.max(top, Math.min(chart.valToPos(value, "y", true), foot));
        stamps.put(pen, islandShape(island), colours.islands[island % colours.islands.length], x, y);
      }
    }
    pen.globalAlpha = 1;
    const chosenAt = placeOf(columns, inspected());
    if (chosenAt >= 0) {
      const y = chart.valToPos(this.shown?.[chosenAt] ?? -Infinity, "y", true);
      const x = chart.valToPos(columns.place[chosenAt] + 1, "x", true);
      ring(pen, x, Math.max(top, Math.min(y, foot)), 7 * devicePixelRatio);
    }
    pen.fillStyle = colours.soft;
    pen.font = `${12 * devicePixelRatio}px system-ui`;
    pen.textAlign = "center";
    let last = -Infinity;
    for (const one of columns.marks) {
      const x = chart.valToPos(one.place, "x", true);
      if (x - last < 14 * devicePixelRatio) continue;
      pen.fillText(MARKS[/** @type {keyof MARKS} */ (one.kind)] ?? "", x, top + 12 * devicePixelRatio);
      last = x;
    }
    pen.restore();
  }

  /** @param {uPlot} chart */
  point(chart) {
    const columns = this.store?.columns;
    const at = chart.cursor.idx ?? null;
    const left = chart.cursor.left ?? -1;
    this.at = at;
    this.tip?.hide();
    if (!columns || at === null || left < 0 || at >= columns.place.length) return;
    const value = columns.fitness[at];
    const result = value === null ? columns.outcomes[columns.outcome[at]] : number((this.sign ?? 1) * value, 7);
    const origin = `island ${columns.island[at]}, ${columns.operators[columns.operator[at]]}`;
    const words = `Candidate ${nameOf(columns, at)}: ${result}, ${origin}. Click to inspect.`;
    this.tip?.show(words, left, 28, chart.over.clientWidth);
  }

  records() {
    const columns = this.store?.columns;
    return columns ? recordsOf(columns) : [];
  }

  /** Has the tip tell of a candidate. @param {number} at */
  pointTo(at) {
    const { chart } = this;
    const place = this.store?.columns?.place[at];
    if (!chart || place === undefined) return;
    chart.setCursor({ left: chart.valToPos(place + 1, "x"), top: chart.valToPos(this.shown?.[at] ?? 0, "y") });
  }

  /** @param {number | null} at @param {boolean} keyboard */
  open(at, keyboard) {
    const columns = this.store?.columns;
    const { chart } = this;
    if (!columns || !chart || at === null) return;
    const x = chart.over.getBoundingClientRect().left + chart.valToPos(columns.place[at] + 1, "x");
    inspect(this, nameOf(columns, at), { origin: this.plot, keyboard, x });
  }

  /** @param {import("./columns.js").Columns} columns */
  list(columns) {
    const legend = /** @type {HTMLElement} */ (this.legend);
    const islands = [...new Set(columns.island)].sort((a, b) => a - b).slice(0, 12);
    const [drawn, total] = [columns.place.length, columns.total].map((count) => number(count));
    legend.replaceChildren(
      ...islands.map((island) => entry(islandShape(island), islandColour(island), `island ${island}`)),
      ...(columns.fitness.includes(null) ? [entry(FAILURE, colours.bad, "failed")] : []),
      ...[...new Set(columns.marks.map((one) => one.kind))].map((kind) =>
        item(`${MARKS[/** @type {keyof MARKS} */ (kind)] ?? ""} ${kind}`),
      ),
      ...(columns.sampled ? [item(`${drawn} of ${total} candidates, the best among them`)] : []),
    );
  }
}

const colours = { bad: "", soft: "", islands: /** @type {string[]} */ ([]) };
function readColours() {
  colours.bad = colour("bad");
  colours.soft = colour("soft");
  colours.islands = Array.from({ length: 8 }, (_, island) => islandColour(island));
}
readColours();
onTheme(readColours);

/**
 * The range of evaluations that an address names; null: all.
 * @param {string} from
 * @param {string} to
 * @returns {[number, number] | null}
 */
function zoomed(from, to) {
  const [low, high] = [from, to].map(Number);
  return from && to && high > low ? [low, high] : null;
}

function stepped() {
  return uPlot.paths.stepped?.({ align: 1 });
}

/** @param {string} words */
function item(words) {
  const made = document.createElement("li");
  made.textContent = words;
  return made;
}

customElements.define("score-curve", ScoreCurve);

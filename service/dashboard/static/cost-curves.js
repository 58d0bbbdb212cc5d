// <best-cost data-src data-over>: the best so far by what the run had used.
// <policy-curves data-src data-show>: what each policy of a run brought and spent.
// Both take the points of the run's metrics.
// @ts-check
import { across, unitOf, upwards } from "./axes.js";
import { chartData } from "./chart-data.js";
import { onChoice } from "./choices.js";
import { lineSample } from "./line-sample.js";
import { number } from "./numbers.js";
import { islandColour, onTheme } from "./palette.js";
import { asScore, scoreWord } from "./score.js";

const HEIGHT = 260;
const WAIT_MILLISECONDS = 4000;
const DASHES = [[], [8, 4], [2, 4], [12, 4, 2, 4], [16, 4]];
const NAMED = 40; // letters of a name

/**
 * @typedef {object} Point
 * @property {number} evaluations
 * @property {number | null} best_fitness
 * @property {number} tokens_input
 * @property {number} tokens_output
 * @property {number} evaluation_seconds
 * @property {string | null} cost
 */
/**
 * @typedef {object} Policy
 * @property {string} name
 * @property {number[]} evaluations
 * @property {number[]} gain
 * @property {number[]} tokens
 * @property {(number | null)[]} cost
 */
/** @typedef {{points: Point[], policy_curves: Policy[]}} Metrics */
/** @typedef {{label: string, values: (number | null)[]}} Line */
/** @typedef {{xs: number[], label: string, whole: boolean, lines: Line[]}} Curves */

/** The amount of a sum such as "0.5 USD". @param {string | null} cost */
export function amountOf(cost) {
  return cost === null ? null : Number(cost.split(" ")[0]);
}

/** The best by what was used. @param {Metrics} metrics @param {string} over @returns {Curves} */
export function bestCurves({ points }, over) {
  const used = points.map((point) => {
    if (over === "money") return amountOf(point.cost);
    if (over === "tokens") return point.tokens_input + point.tokens_output;
    return over === "time" ? point.evaluation_seconds : point.evaluations;
  });
  const known = used.flatMap((value, at) => (value === null ? [] : [at]));
  const currency = points.at(-1)?.cost?.split(" ")[1] ?? "";
  const labels = { money: `Cost in ${currency}`, tokens: "Tokens", time: "Time of evaluators in seconds" };
  return {
    xs: known.map((at) => /** @type {number} */ (used[at])),
    label: labels[/** @type {keyof labels} */ (over)] ?? "Evaluations",
    whole: over === "evaluations" || over === "tokens",
    lines: [{ label: `best ${scoreWord()}`, values: known.map((at) => asScore(points[at].best_fitness)) }],
  };
}

/** Each policy over the evaluations. @param {Metrics} metrics @param {string} show @returns {Curves} */
export function policyCurves({ points, policy_curves }, show) {
  const share = (/** @type {number} */ gain, /** @type {number | null} */ spent) =>
    spent === null || !spent ? null : asScore(gain / spent);
  return {
    xs: points.map((point) => point.evaluations),
    label: "Evaluations",
    whole: true,
    lines: policy_curves.map((policy) => ({
      label: policy.name,
      values: points.map((_, at) => {
        if (show === "candidates") return policy.evaluations[at];
        if (show === "tokens") return policy.tokens[at];
        if (show === "money") return policy.cost[at];
        if (show === "rate") return share(policy.gain[at], policy.cost[at]);
        return asScore(policy.gain[at]);
      }),
    })),
  };
}

class CostChart extends HTMLElement {
  choice = "";
  timer = 0;

  connectedCallback() {
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.plot, this.legend);
    onChoice(this, this.choice, () => this.draw());
    this.news = () => {
      this.timer ||= window.setTimeout(() => {
        this.timer = 0;
        void this.refresh();
      }, WAIT_MILLISECONDS);
    };
    document.addEventListener("evolve:news", this.news);
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => this.draw());
    void this.refresh();
  }

  disconnectedCallback() {
    if (this.news) document.removeEventListener("evolve:news", this.news);
    this.resize?.disconnect();
    this.chart?.destroy();
  }

  async refresh() {
    const found = await chartData(this, this.dataset.src ?? "", () => void this.refresh());
    if (!found) return;
    this.metrics = found;
    this.draw();
  }

  /** @param {Metrics} _metrics @returns {Curves} */
  curves(_metrics) {
    return { xs: [], label: "", whole: false, lines: [] };
  }

  draw() {
    if (!this.metrics || !this.isConnected) return;
    const curves = this.curves(this.metrics);
    this.shown = curves;
    this.chart?.destroy();
    this.chart = undefined;
    if (!curves.xs.length) return;
    const unit = unitOf(curves.lines.flatMap((line) => line.values));
    const paths = uPlot.paths.stepped?.({ align: 1 });
    this.chart = new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false } },
        scales: { x: { time: false } },
        axes: [across({ label: curves.label, whole: curves.whole }), upwards({ unit: () => unit })],
        series: [
          {},
          ...curves.lines.map((line, at) => ({
            label: line.label,
            stroke: islandColour(at),
            dash: DASHES[at % DASHES.length],
            width: 2,
            paths,
            spanGaps: true,
            points: { show: false },
          })),
        ],
        hooks: { setCursor: [(chart) => this.say(chart.cursor.idx ?? curves.xs.length - 1)] },
      },
      [curves.xs, ...curves.lines.map((line) => line.values.map((value) => (value === null ? null : value / unit)))],
      this.plot,
    );
    this.say(curves.xs.length - 1);
    this.dataset.shown = String(curves.xs.length);
  }

  /** The numbers at a point, in words. @param {number} at */
  say(at) {
    const curves = this.shown;
    if (!curves || !this.legend) return;
    const place = document.createElement("li");
    place.textContent = `${curves.label} ${number(curves.xs[at])}:`;
    this.legend.replaceChildren(
      place,
      ...curves.lines.map((line, which) => {
        const item = document.createElement("li");
        const sample = lineSample(islandColour(which), DASHES[which % DASHES.length]);
        item.append(sample, ` ${line.label.slice(0, NAMED)} ${number(line.values[at])}`);
        return item;
      }),
    );
  }
}

class BestCost extends CostChart {
  choice = "over";

  /** @param {Metrics} metrics */
  curves(metrics) {
    return bestCurves(metrics, this.dataset.over ?? "");
  }
}

class PolicyCurves extends CostChart {
  choice = "show";

  /** @param {Metrics} metrics */
  curves(metrics) {
    return policyCurves(metrics, this.dataset.show ?? "");
  }
}

customElements.define("best-cost", BestCost);
customElements.define("policy-curves", PolicyCurves);

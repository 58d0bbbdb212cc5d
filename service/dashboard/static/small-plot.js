// Small charts over one axis whose cursors move together; each tells in its title what its lines are at the cursor.
// @ts-check
import { across, unitOf, upwards } from "./axes.js";
import { number } from "./numbers.js";

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} stroke
 * @property {number[]} [dash]
 * @property {number} [width]
 * @property {boolean} [stepped]
 * @property {(number | null)[]} values
 */

const HEIGHT = 150;

export class SmallPlot {
  /** @param {HTMLElement} host @param {string} title @param {string} key charts of one key share the cursor */
  constructor(host, title, key) {
    this.key = key;
    this.holder = document.createElement("div");
    this.plot = document.createElement("div");
    const words = document.createElement("p");
    const name = document.createElement("strong");
    this.read = document.createElement("span");
    words.className = "title";
    this.read.className = "read";
    this.plot.className = "plot";
    name.textContent = title;
    words.append(name, " ", this.read);
    this.holder.append(words, this.plot);
    host.append(this.holder);
    /** @type {Line[]} */
    this.lines = [];
    /** @type {uPlot | null} */
    this.chart = null;
    this.unit = 1;
  }

  /**
   * @param {number[]} xs rising
   * @param {Line[]} lines
   * @param {number} end of the axis
   * @param {[number, number] | null} range of all values; null: what there is
   */
  show(xs, lines, end, range) {
    const same = lines.length === this.lines.length;
    this.lines = lines;
    this.range = range;
    this.end = end;
    this.unit = unitOf(lines.flatMap((line) => line.values));
    /** @type {uPlot.AlignedData} */
    const data = [xs, ...lines.map((line) => line.values.map((value) => (value === null ? null : value / this.unit)))];
    if (same && this.chart) this.chart.setData(data);
    else {
      this.forget();
      this.chart = this.make(data);
    }
    this.tell();
  }

  /** Lets go of what was drawn, in the colours of another theme. */
  forget() {
    this.chart?.destroy();
    this.chart = null;
  }

  fit() {
    if (this.plot.clientWidth) this.chart?.setSize({ width: this.plot.clientWidth, height: HEIGHT });
  }

  /** @param {uPlot.AlignedData} data */
  make(data) {
    const { paths } = uPlot;
    return new uPlot(
      {
        width: this.plot.clientWidth || 300,
        height: HEIGHT,
        legend: { show: false },
        cursor: {
          drag: { x: false, y: false },
          points: { show: false },
          sync: { key: this.key, setSeries: false, scales: ["x", null] },
        },
        scales: {
          x: { time: false, range: () => [0, this.end ?? 1] },
          y: {
            range: (_, low, high) => this.range ?? roomy(low, high),
          },
        },
        axes: [across({ whole: true, small: true }), upwards({ unit: () => this.unit, small: true })],
        series: [
          {},
          ...this.lines.map((line) => ({
            stroke: line.stroke,
            width: line.width ?? 1.5,
            dash: line.dash,
            spanGaps: true,
            points: { show: false },
            ...(line.stepped ? { paths: paths.stepped?.({ align: 1 }) } : {}),
          })),
        ],
        hooks: { setCursor: [() => this.tell()] },
      },
      data,
      this.plot,
    );
  }

  /** Says the values at the cursor, or the last ones. */
  tell() {
    const xs = this.chart?.data[0];
    const { left = -1, idx = null } = this.chart?.cursor ?? {};
    const pointed = left >= 0 ? idx : null;
    if (!xs?.length) {
      this.read.textContent = "nothing yet";
      return;
    }
    const at = pointed ?? xs.length - 1;
    const place = pointed === null ? "" : `at ${number(xs[at])}: `;
    const values = this.lines.map((line) => `${line.name} ${number(lastOf(line.values, at), 4)}`);
    this.read.textContent = `${place}${values.join(", ")}`;
  }
}

/** The newest value until a place. @param {(number | null)[]} values @param {number} at */
function lastOf(values, at) {
  for (let place = at; place >= 0; place -= 1)
    if (values[place] !== null && values[place] !== undefined) return values[place];
  return null;
}

/** @param {number | null} low @param {number | null} high @returns {[number, number]} */
function roomy(low, high) {
  const least = Math.min(0, low ?? 0);
  const most = high ?? 1;
  return [least, most + 0.08 * (most - least || 1)];
}

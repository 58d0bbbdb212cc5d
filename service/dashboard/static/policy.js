// <token-curve data-src>: tokens that a run read, of these from a cache, and wrote, over its evaluations.
// @ts-check
import { across, upwards } from "./axes.js";
import { chartData } from "./chart-data.js";
import { AHEAD, SERIES, aheadSeries, band, forecastData, forecastOfPage } from "./cost-forecast.js";
import { lineSample } from "./line-sample.js";
import { number } from "./numbers.js";
import { islandColour, onTheme } from "./palette.js";

const HEIGHT = 260;
const WAIT = 4000;

/** @typedef {import("./cost-forecast.js").Point} Point */
/** @typedef {import("./cost-forecast.js").Ahead} Ahead */

class TokenCurve extends HTMLElement {
  connectedCallback() {
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.plot, this.legend);
    this.timer = 0;
    /** @type {Point[]} */
    this.points = [];
    this.news = () => {
      this.timer ||= window.setTimeout(() => {
        this.timer = 0;
        void this.refresh();
      }, WAIT);
    };
    document.addEventListener("evolve:news", this.news);
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => {
      this.chart?.destroy();
      this.chart = undefined;
      this.draw();
    });
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
    this.points = found.points;
    this.draw();
  }

  draw() {
    const points = /** @type {Point[]} */ (this.points ?? []);
    if (!points.length || !this.isConnected) return;
    const ahead = forecastOfPage();
    const data = forecastData(points, ahead);
    if (this.chart && this.chart.data.length === data.length) this.chart.setData(data);
    else {
      this.chart?.destroy();
      this.chart = this.make(data, ahead);
    }
    this.say(points.length - 1);
    this.dataset.shown = String(points.length);
  }

  /** @param {uPlot.AlignedData} data @param {Ahead | null} ahead */
  make(data, ahead) {
    return new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false } },
        scales: { x: { time: false } },
        axes: [across({ label: "Evaluations", whole: true }), upwards()],
        series: [
          {},
          ...SERIES.map(([, label, dash], at) => ({
            label,
            dash: [...dash],
            stroke: islandColour(at),
            width: 2,
            points: { show: false },
          })),
          ...(ahead ? aheadSeries() : []),
        ],
        ...(ahead ? { bands: AHEAD.map((_, at) => band(SERIES.length + 1 + 3 * at)) } : {}),
        hooks: {
          setCursor: [(chart) => this.say(Math.min(chart.cursor.idx ?? Infinity, (this.points?.length ?? 0) - 1))],
        },
      },
      data,
      this.plot,
    );
  }

  /** The numbers at a point, in words. @param {number} at */
  say(at) {
    const point = this.points?.[at];
    if (!point || !this.legend) return;
    const place = document.createElement("li");
    place.textContent = `After ${number(point.evaluations)} evaluations:`;
    this.legend.replaceChildren(
      place,
      ...SERIES.map(([name, label, dash], series) => {
        const item = document.createElement("li");
        item.append(lineSample(islandColour(series), dash), ` ${label} ${number(point[name])}`);
        return item;
      }),
    );
  }
}

customElements.define("token-curve", TokenCurve);

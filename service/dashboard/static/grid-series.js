// <grid-series data-src>: filled cells and the quality-diversity score over the evaluations, on a scale each.
// @ts-check
import { across, upwards } from "./axes.js";
import { chartData } from "./chart-data.js";
import { number } from "./numbers.js";
import { entry, islandColour, onTheme } from "./palette.js";

const HEIGHT = 220;
const WAIT_MILLISECONDS = 2000;

class GridSeries extends HTMLElement {
  connectedCallback() {
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.plot, this.legend);
    this.asked = 0;
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => {
      this.chart?.destroy();
      this.chart = undefined;
      this.draw();
    });
    document.addEventListener("evolve:news", () => {
      this.asked ||= window.setTimeout(() => void this.read(), WAIT_MILLISECONDS);
    });
    void this.read();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    this.chart?.destroy();
  }

  async read() {
    this.asked = 0;
    const found = await chartData(this, this.dataset.src ?? "", () => void this.read());
    if (!found) return;
    /** @type {{evaluations: number, cells: number, qd_score: number}[]} */
    this.points = found.points;
    this.draw();
  }

  draw() {
    const points = this.points;
    if (!points?.length || !this.isConnected) return;
    /** @type {uPlot.AlignedData} */
    const data = [
      points.map((point) => point.evaluations),
      points.map((point) => point.cells),
      points.map((point) => point.qd_score),
    ];
    if (this.chart) this.chart.setData(data);
    else this.chart = this.make(data);
    const last = points[points.length - 1];
    this.legend?.replaceChildren(
      entry("circle", islandColour(0), `filled cells (left): ${number(last.cells)}`),
      entry("square", islandColour(1), `QD score (right, dashed): ${number(last.qd_score)}`),
    );
    this.dataset.shown = String(points.length);
  }

  /** @param {uPlot.AlignedData} data */
  make(data) {
    /** @type {uPlot.Range.Function} */
    const above = (_, __, high) => [0, high > 0 ? 1.05 * high : 1];
    return new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false }, y: { range: above }, score: { range: above } },
        axes: [
          across({ label: "Evaluations", whole: true }),
          upwards(),
          { ...upwards(), side: 1, scale: "score", grid: { show: false } },
        ],
        series: [
          {},
          { stroke: islandColour(0), width: 2, points: { show: false } },
          { scale: "score", stroke: islandColour(1), width: 2, dash: [6, 4], points: { show: false } },
        ],
      },
      data,
      this.plot,
    );
  }
}

customElements.define("grid-series", GridSeries);

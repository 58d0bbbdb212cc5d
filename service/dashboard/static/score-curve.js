// <score-curve data-src data-run>: best so far, each candidate as a mark of its island, failures in a gutter,
// and events of the run.
// @ts-check
import { storeOf } from "./columns.js";
import { colour, entry, islandColour, islandShape, mark, onTheme, short } from "./palette.js";

const HEIGHT = 340;
const GUTTER = 0.08;
const MARKS = {
  "island.migrated": "⇄",
  "island.reset": "↺",
  "run.paused": "‖",
  "run.resumed": "▸",
  "budget.extended": "+",
};

class ScoreCurve extends HTMLElement {
  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(this.plot, this.legend);
    this.frame = 0;
    this.store.addEventListener("change", () => this.later());
    this.resize = new ResizeObserver(() => this.chart?.setSize({ width: this.clientWidth || 600, height: HEIGHT }));
    this.resize.observe(this);
    onTheme(() => {
      this.chart?.destroy();
      this.chart = undefined;
      this.later();
    });
    if (this.store.columns) this.later();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    this.chart?.destroy();
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const columns = this.store?.columns;
    if (!columns?.place.length || !this.isConnected) return;
    let best = -Infinity;
    const line = columns.fitness.map((value) => {
      if (value !== null && value > best) best = value;
      return best === -Infinity ? null : best;
    });
    /** @type {uPlot.AlignedData} */
    const data = [columns.place.map((place) => place + 1), line, columns.fitness];
    if (this.chart) this.chart.setData(data);
    else this.chart = this.make(data);
    this.dataset.shown = String(columns.total);
    this.list(columns);
  }

  /** @param {uPlot.AlignedData} data */
  make(data) {
    const axis = {
      stroke: colour("soft"),
      grid: { stroke: colour("sunk"), width: 1 },
      ticks: { stroke: colour("line") },
      font: "12px system-ui",
    };
    const plot = /** @type {HTMLElement} */ (this.plot);
    const chart = new uPlot(
      {
        width: this.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false }, points: { show: false } },
        scales: { x: { time: false }, y: { range: (_, low, high) => this.range(low, high) } },
        axes: [
          { ...axis, label: "Evaluations", labelSize: 18 },
          { ...axis, size: 64 },
        ],
        series: [
          {},
          { stroke: colour("accent"), width: 2, paths: stepped(), points: { show: false } },
          { stroke: "transparent", paths: () => null, points: { show: false } },
        ],
        hooks: { draw: [(chart) => this.dots(chart)], setCursor: [(chart) => this.point(chart)] },
      },
      data,
      plot,
    );
    chart.over.append(/** @type {HTMLElement} */ (this.tip));
    chart.over.addEventListener("click", () => this.open());
    return chart;
  }

  /**
   * Room for most of the dots: what is far below the others would press them flat.
   * @param {number} low
   * @param {number} high
   * @returns {uPlot.Range.MinMax}
   */
  range(low, high) {
    const values = (this.store?.columns?.fitness ?? []).filter((value) => value !== null).sort((a, b) => a - b);
    if (!values.length) return [low ?? 0, high ?? 1];
    const floor = values[Math.floor(0.02 * (values.length - 1))];
    const top = values[values.length - 1];
    const span = top - floor || Math.abs(top) || 1;
    return [floor - (GUTTER + 0.06) * span, top + 0.06 * span];
  }

  /** @param {uPlot} chart */
  dots(chart) {
    const columns = this.store?.columns;
    if (!columns) return;
    const pen = chart.ctx;
    const { left, top, width, height } = chart.bbox;
    const size = 2.4 * devicePixelRatio;
    const foot = top + height - 0.5 * GUTTER * height;
    const shown = { left, right: left + width };
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    for (let at = 0; at < columns.place.length; at += 1) {
      const x = chart.valToPos(columns.place[at] + 1, "x", true);
      const value = columns.fitness[at];
      if (x < shown.left || x > shown.right) continue;
      pen.fillStyle = pen.strokeStyle =
        value === null ? colours.bad : colours.islands[columns.island[at] % colours.islands.length];
      pen.globalAlpha = value === null ? 0.8 : 0.65;
      if (value === null) mark(pen, "cross", x, foot, size);
      else mark(pen, islandShape(columns.island[at]), x, Math.min(chart.valToPos(value, "y", true), foot), size);
    }
    pen.globalAlpha = 1;
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
    const tip = /** @type {HTMLElement} */ (this.tip);
    const at = chart.cursor.idx ?? null;
    const left = chart.cursor.left ?? -1;
    this.at = at;
    tip.hidden = !columns || at === null || left < 0;
    if (tip.hidden || !columns || at === null || at >= columns.place.length) return;
    const value = columns.fitness[at];
    const result = value === null ? columns.outcomes[columns.outcome[at]] : short(value);
    const origin = `island ${columns.island[at]}, ${columns.operators[columns.operator[at]]}`;
    tip.textContent = `Evaluation ${columns.place[at] + 1}: ${result}, ${origin}. Click to open.`;
    const near = left > chart.over.clientWidth / 2;
    tip.style.left = near ? "auto" : `${left + 12}px`;
    tip.style.right = near ? `${chart.over.clientWidth - left + 12}px` : "auto";
    tip.style.top = "8px";
  }

  open() {
    const columns = this.store?.columns;
    if (columns && this.at !== undefined && this.at !== null)
      location.assign(`/runs/${this.dataset.run}/at/${columns.number[this.at]}/${columns.position[this.at]}`);
  }

  /** @param {import("./columns.js").Columns} columns */
  list(columns) {
    const legend = /** @type {HTMLElement} */ (this.legend);
    const islands = [...new Set(columns.island)].sort((a, b) => a - b).slice(0, 12);
    const [drawn, total] = [columns.place.length, columns.total].map((count) => count.toLocaleString("en"));
    legend.replaceChildren(
      ...islands.map((island) => entry(islandShape(island), islandColour(island), `island ${island}`)),
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

// <island-curves data-src>: best and mean of each island over the evaluations, small charts on one scale.
// @ts-check
import { storeOf } from "./columns.js";
import { inTurn } from "./frames.js";
import { curvesOf, thinned } from "./island-series.js";
import { colour, islandColour, onTheme } from "./palette.js";
import { asScore, scoreSign } from "./score.js";
import { SmallPlot } from "./small-plot.js";

const MOST = 24;
const ROOM = 0.05;

class IslandCurves extends HTMLElement {
  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    this.multiples = document.createElement("div");
    this.multiples.className = "multiples";
    this.note = document.createElement("p");
    this.note.className = "note";
    this.append(this.multiples, this.note);
    /** @type {Map<number, SmallPlot>} */
    this.plots = new Map();
    this.store.addEventListener("change", () => this.later());
    this.resize = new ResizeObserver(() => {
      for (const plot of this.plots?.values() ?? []) plot.fit();
    });
    this.resize.observe(this);
    onTheme(() => {
      for (const plot of this.plots?.values() ?? []) plot.forget();
      this.later();
    });
    if (this.store.columns) this.later();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    for (const plot of this.plots?.values() ?? []) plot.forget();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const columns = this.store?.columns;
    const { plots, multiples, note } = this;
    if (!columns || !plots || !multiples || !note || !this.isConnected) return;
    this.querySelector("[data-placeholder]")?.remove();
    const islands = [...new Set(columns.island)].sort((a, b) => a - b);
    const range = span(columns.fitness.map(asScore));
    for (const island of islands.slice(0, MOST)) {
      const held = plots.get(island) ?? new SmallPlot(multiples, `Island ${island}`, "islands");
      plots.set(island, held);
      const { xs, best, mean } = thinned(curvesOf(columns, island));
      held.show(
        xs,
        [
          { name: "best", stroke: islandColour(island), width: 2, stepped: true, values: best.map(asScore) },
          { name: "mean", stroke: colour("soft"), dash: [5, 3], values: mean.map(asScore) },
        ],
        columns.total,
        range,
      );
    }
    note.textContent =
      islands.length > MOST ? `The first ${MOST} of ${islands.length} islands are drawn. The table has all.` : "";
    this.dataset.shown = String(columns.total);
  }
}

/** Room for most values of all islands. @param {(number | null)[]} scores @returns {[number, number]} */
function span(scores) {
  const values = Float64Array.from(/** @type {number[]} */ (scores.filter((value) => value !== null))).sort();
  if (!values.length) return [0, 1];
  const rest = Math.floor(0.02 * (values.length - 1));
  const [low, high] =
    scoreSign() > 0 ? [values[rest], values[values.length - 1]] : [values[0], values[values.length - 1 - rest]];
  const room = ROOM * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

customElements.define("island-curves", IslandCurves);

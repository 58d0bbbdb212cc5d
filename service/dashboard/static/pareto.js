// <pareto-scatter data-src data-metrics data-run>: two objectives of a run against each other, up to a moment.
// @ts-check
import { nameOf, placeOf } from "./candidate-name.js";
import { storeOf } from "./columns.js";
import { keep } from "./address.js";
import { Tip, fitted, nearestMark } from "./canvas-chart.js";
import { inTurn } from "./frames.js";
import { frontOf, frontSize, objectivesOfPage, ordered, scoreOf, stairs, titled, valid } from "./objectives.js";
import { inspect, inspected, onInspected } from "./inspect.js";
import { MarkWalk } from "./mark-walk.js";
import { number } from "./numbers.js";
import { colour, entry, islandColour, islandShape, onTheme } from "./palette.js";
import { HEIGHT, Picture } from "./pareto-picture.js";
import { replayedRecords } from "./records.js";
import { Replay } from "./replay.js";

const NEAR = 14;
const VOLUMES_MILLISECONDS = 2000;

class ParetoScatter extends HTMLElement {
  connectedCallback() {
    this.objectives = objectivesOfPage();
    this.store = storeOf(this.dataset.src ?? "");
    /** @type {{evaluations: number, hypervolume: number | null}[]} */
    this.points = [];
    /** @type {number[] | null} */
    this.order = null;
    /** @type {number[]} */
    this.weights = [];
    this.winner = this.near = -1;
    this.asked = 0;
    this.build();
    this.which = this.selects().map((select) => select.selectedIndex);
    document.addEventListener("evolve:weights", (event) => this.weigh(/** @type {CustomEvent} */ (event)));
    for (const select of this.selects()) select.addEventListener("change", () => this.turn());
    this.store.addEventListener("change", () => this.take());
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(this);
    onTheme(() => this.later());
    onInspected(() => this.later());
    if (this.store.columns) this.take();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
  }

  build() {
    const plot = document.createElement("div");
    plot.className = "plot";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Trade-off of two objectives, not drawn yet");
    this.tip = new Tip();
    plot.append(this.canvas, this.tip.element);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      this.near = -1;
      this.tip?.hide();
    });
    this.canvas.addEventListener("click", () => this.open(this.near ?? -1, false));
    new MarkWalk(plot, "Front of the two objectives", {
      order: () => this.steps ?? [],
      show: (at) => this.tell(at),
      open: (at) => this.open(at, true),
      leave: () => this.tip?.hide(),
    });
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.append(plot, this.legend);
    this.replay = new Replay(this, {
      run: this.dataset.run ?? "",
      show: () => this.later(),
      ...replayedRecords(() => this.store?.columns),
    });
  }

  selects() {
    return [...document.querySelectorAll("[data-axes] select")].filter((found) => found instanceof HTMLSelectElement);
  }

  /** Takes other axes; an objective against itself shows nothing, so the other axis gives way. */
  turn() {
    const selects = this.selects();
    const held = this.which ?? [0, 1];
    if (selects[0].selectedIndex === selects[1].selectedIndex) {
      const turned = selects[0].selectedIndex === held[0] ? 1 : 0;
      selects[1 - turned].selectedIndex = held[turned];
    }
    this.which = selects.map((select) => select.selectedIndex);
    this.order = null;
    keep({ x: selects[0].value, y: selects[1].value });
    this.later();
  }

  take() {
    const columns = this.store?.columns;
    if (!columns) return;
    const first = !this.dataset.total;
    this.order = null;
    this.replay?.take(columns.total);
    this.dataset.total = String(columns.total);
    const changed = document.querySelector("[data-changed]");
    if (changed instanceof HTMLElement)
      changed.hidden = frontSize(columns, columns.total).size === Number(changed.dataset.size);
    this.asked ||= window.setTimeout(() => void this.fetchVolumes(), first ? 0 : VOLUMES_MILLISECONDS);
    this.later();
  }

  async fetchVolumes() {
    this.asked = 0;
    const headers = { Accept: "application/json" };
    const answer = await fetch(this.dataset.metrics ?? "", { headers }).catch(() => null);
    if (!answer?.ok) {
      // The service is busy or away: of a run that has ended, nothing new would have it asked again.
      const passing = this.isConnected && (!answer || answer.status >= 500 || answer.status === 429);
      if (passing) this.asked = window.setTimeout(() => void this.fetchVolumes(), VOLUMES_MILLISECONDS);
      return;
    }
    this.points = (await answer.json()).points;
    this.later();
  }

  /** @param {CustomEvent} event */
  weigh(event) {
    this.weights = event.detail.weights;
    this.winner = event.detail.at;
    this.later();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const columns = this.store?.columns;
    const which = this.which;
    if (!columns || !this.canvas || !this.isConnected || !which || which.length < 2) return;
    const order = this.order ?? ordered(columns, which[0], which[1]);
    const count = this.replay?.until ?? columns.total;
    this.order = order;
    this.count = count;
    const front = new Set(frontOf(columns, count));
    const steps = stairs(columns, order, columns.rewards[which[1]], count);
    this.steps = steps;
    if (!order.length) return;
    const { pen, width } = fitted(this.canvas, HEIGHT);
    this.picture = new Picture(
      pen,
      width,
      columns,
      which.map((one) => (this.objectives ?? [])[one]),
      which,
      order,
    );
    this.picture.draw({
      count,
      front,
      steps,
      weights: which.map((one) => this.weights?.[one] ?? 0),
      winner: this.winner ?? -1,
    });
    this.front = front;
    const shown = placeOf(columns, inspected());
    if (shown >= 0 && valid(columns, shown)) this.picture.ring(shown, 9, colour("accent"), 3);
    this.summarise(columns, count, steps.length);
    this.list(columns, this.picture);
  }

  /** @param {import("./columns.js").Columns} columns @param {number} count @param {number} steps */
  summarise(columns, count, steps) {
    const { size, about: nearly } = frontSize(columns, count);
    const passed = (this.points ?? []).filter((point) => point.evaluations <= count);
    const volume = passed.length ? passed[passed.length - 1].hypervolume : null;
    const sampled = (this.objectives ?? []).length > 2; // some thousands of samples give two digits
    const worth = sampled ? `about ${number(volume, 2)}` : number(volume);
    const measured = volume === null ? "" : `, hypervolume ${worth}`;
    const members = `${nearly ? "about " : ""}${number(size)} on the front`;
    const shown = `${members}, ${number(steps)} steps in this picture${measured}`;
    const words = `After ${number(count)} evaluations: ${shown}.`;
    this.replay?.tell(words);
    const axes = (this.which ?? []).map((one) => titled((this.objectives ?? [])[one]));
    this.canvas?.setAttribute("aria-label", `${axes.join(" against ")}. ${words} The front is in the table below.`);
    this.dataset.front = String(size);
    this.dataset.volume = volume === null ? "" : String(volume);
  }

  /** @param {import("./columns.js").Columns} columns @param {Picture} picture */
  list(columns, picture) {
    const islands = [...new Set(columns.island)]
      .sort((a, b) => a - b)
      .slice(0, 12)
      .map((island) => entry(islandShape(island), islandColour(island), `island ${island}`));
    const known = picture.floors.every((floor) => floor !== null);
    const floors = picture.floors.map((floor, side) =>
      number(floor === null ? null : scoreOf(picture.axes[side], floor)),
    );
    const others = [
      "◯ on the front of all objectives",
      "⌐ front of these two",
      "╌ weights, and the best under them in a large ring",
    ];
    if (known)
      others.push(picture.referenced ? "✕ reference point" : `reference point outside, at ${floors.join(" and ")}`);
    if (columns.sampled)
      others.push(
        `${number(columns.place.length)} of ${number(columns.total)} candidates, with the front of these two`,
      );
    this.legend?.replaceChildren(
      ...islands,
      ...others.map((words) => {
        const item = document.createElement("li");
        item.textContent = words;
        return item;
      }),
    );
  }

  /** @param {MouseEvent} event */
  point(event) {
    const columns = this.store?.columns;
    const picture = this.picture;
    if (!columns || !picture || !this.canvas) return;
    const { offsetX: x, offsetY: y } = event;
    const seen = (this.order ?? []).filter((at) => columns.place[at] < (this.count ?? 0));
    // Of marks in one place that on the front is meant.
    const [front, others] = [true, false].map((on) => seen.filter((at) => (this.front?.has(at) ?? false) === on));
    const near = nearestMark([...front, ...others], (at) => picture.place(at), x, y, NEAR);
    this.near = near;
    this.canvas.style.cursor = near < 0 ? "default" : "pointer";
    if (near < 0) this.tip?.hide();
    else this.tell(near);
  }

  /** Has the tip tell of a candidate. @param {number} near */
  tell(near) {
    const columns = this.store?.columns;
    const picture = this.picture;
    if (!columns || !picture) return;
    const scores = (this.objectives ?? []).map(
      (objective, one) =>
        `${objective.name} ${number(scoreOf(objective, /** @type {number} */ (columns.rewards[one][near])))}`,
    );
    const origin = `evaluation ${columns.place[near] + 1}, island ${columns.island[near]}`;
    const found = `${nameOf(columns, near)}, ${origin}${this.front?.has(near) ? ", on the front" : ""}`;
    const words = `${found}: ${scores.join(", ")}; fitness ${number(columns.fitness[near])}. Click to inspect.`;
    const [x, y] = picture.place(near);
    this.tip?.show(words, x, y, picture.width);
  }

  /** @param {number} at @param {boolean} keyboard */
  open(at, keyboard) {
    const columns = this.store?.columns;
    const { canvas, picture } = this;
    if (!columns || !canvas || !picture || at < 0 || !valid(columns, at)) return;
    const x = canvas.getBoundingClientRect().left + picture.place(at)[0];
    inspect(this, nameOf(columns, at), { origin: canvas.parentElement, keyboard, x });
  }
}

customElements.define("pareto-scatter", ParetoScatter);

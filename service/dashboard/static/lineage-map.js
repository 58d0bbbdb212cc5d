// <lineage-map data-src data-run data-x data-lanes data-at>: all candidates of a run by score, with lines of descent.
// @ts-check
import { Drag, Tip } from "./canvas-chart.js";
import { chosen, keep } from "./address.js";
import { nameOf, placeOf } from "./candidate-name.js";
import { storeOf } from "./columns.js";
import { inTurn } from "./frames.js";
import { asScore, scoreWord } from "./score.js";
import { NARROWEST, bestChild, modelOf, relativesOf, viewAfter, zoomed } from "./lineage-model.js";
import {
  LEFT,
  MAX_LANES,
  RIGHT,
  across,
  layoutOf,
  nearestTo,
  paintGround,
  paintLines,
  paintMarks,
} from "./lineage-paint.js";
import { fetchLine, made, makeButtons, makeLayers, makeLegend, makeLink, makeMap, originOf } from "./lineage-parts.js";
import { inspect, inspected } from "./inspect.js";
import { number } from "./numbers.js";
import { onTheme } from "./palette.js";
import { bestUntil, replayedRecords } from "./records.js";
import { Replay } from "./replay.js";

const AXES = { proposal: "Proposals", evaluation: "Evaluations" };

class LineageMap extends HTMLElement {
  view = { from: 0, to: 1 };
  whole = true;
  chosen = -1;
  pointed = -1;
  frame = 0;
  wait = 0;
  told = 0;
  /** Milliseconds of script that the last frame took. */
  took = 0;

  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    this.build();
    this.store.addEventListener("change", () => this.renew());
    this.resize = new ResizeObserver(() => this.arrange());
    this.resize.observe(this);
    onTheme(() => this.arrange());
    this.links = (/** @type {MouseEvent} */ event) => this.follow(event);
    document.addEventListener("click", this.links);
    if (this.store.columns) this.renew();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
    if (this.links) document.removeEventListener("click", this.links);
  }

  build() {
    const map = makeMap();
    this.map = map;
    this.pens = makeLayers(map);
    this.tip = new Tip();
    map.append(this.tip.element);
    this.side = made("p", "chosen note");
    this.legend = made("ul", "legend");
    const buttons = makeButtons((key) => this.press(key));
    this.append(map, this.legend, this.side, buttons);
    this.replay = new Replay(this, {
      run: this.dataset.run ?? "",
      show: () => this.replayed(),
      ...replayedRecords(() => this.store?.columns),
    });
    map.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key)) event.preventDefault();
    });
    map.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.drag = new Drag(map, {
      press: () => {
        this.grabbed = this.view;
        return true;
      },
      drag: (event, from) => this.pan(event, from),
      drop: () => map.classList.remove("dragging"),
      click: (event) => {
        const at = this.nearest(event);
        if (at >= 0 || this.chosen >= 0) this.choose(at);
        if (at >= 0) this.inspect(at, false);
      },
      hover: (event) => this.point(this.nearest(event)),
      leave: () => this.point(-1),
    });
  }

  /** Takes in what is new; who looks at a part goes on looking at it. */
  renew() {
    const columns = this.store?.columns;
    if (!columns?.place.length) return;
    const first = !this.model;
    const axis = this.dataset.x ?? "proposal";
    this.model = modelOf(columns, axis);
    this.replay?.take(columns.total);
    this.rewind();
    if (first) this.open();
    if (this.whole) this.view = { from: this.start(), to: this.model.end };
    this.choose(this.placeOf(this.dataset.at ?? ""), false);
    this.arrange();
  }

  open() {
    const [from, to] = [chosen("from"), chosen("to")].map(Number);
    if (!chosen("from") || !(to - from >= NARROWEST)) return;
    this.whole = false;
    this.view = { from, to };
  }

  /** Shows the run as it was at the moment of the slider. */
  replayed() {
    this.rewind();
    this.choose(this.chosen, false);
  }

  rewind() {
    const { model, replay } = this;
    const columns = this.store?.columns;
    if (!model || !replay || !columns) return;
    model.until = replay.atEnd ? model.count : replay.until;
    model.best = bestUntil(columns, model.until);
    replay.tell(
      `After ${number(model.until)} evaluations: ${model.best < 0 ? "nothing valid" : this.worth(model.best)}.`,
    );
  }

  start() {
    return this.dataset.x === "evaluation" ? 0 : -0.5;
  }

  /** The chosen candidate once it is there, else the best. */
  shown() {
    const { model } = this;
    return !model || (this.chosen >= 0 && this.chosen < model.until) ? this.chosen : model.best;
  }

  /** @param {string} at as in the address */
  placeOf(at) {
    const columns = this.store?.columns;
    return columns ? placeOf(columns, at) : -1;
  }

  /** @param {number} at @param {boolean} keyboard */
  inspect(at, keyboard) {
    const { layout, model, map } = this;
    const columns = this.store?.columns;
    if (!layout || !model || !map || !columns) return;
    const x = map.getBoundingClientRect().left + across(layout, model.xs[at]);
    inspect(this, nameOf(columns, at), { origin: map, keyboard, x });
  }

  arrange() {
    if (!this.model || !this.map || !this.clientWidth) return;
    const stacked = this.dataset.lanes !== "common" && this.model.islands > 1 && this.model.islands <= MAX_LANES;
    this.layout = layoutOf(this.model, this.clientWidth, stacked, this.view);
    const scale = Math.min(2, devicePixelRatio);
    this.scale = scale;
    const { width, height } = this.layout;
    this.map.style.height = `${height}px`;
    const wide = Math.round(width * scale);
    const high = Math.round(height * scale);
    for (const { canvas } of this.pens ?? []) Object.assign(canvas, { width: wide, height: high });
    for (const pen of this.pens ?? []) pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.image = new ImageData(wide, high);
    this.taken = new Uint8Array(((wide >> 1) + 1) * ((high >> 1) + 1));
    this.legend?.replaceChildren(...makeLegend(this.model, stacked));
    this.later();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const { model, layout, image, taken, kin } = this;
    if (!model || !layout || !image || !taken || !kin || !this.pens || !this.isConnected) return;
    const begin = performance.now();
    const [ground, marks, lines] = this.pens;
    layout.view = this.view;
    paintGround(ground, model, layout, AXES[/** @type {keyof AXES} */ (this.dataset.x ?? "proposal")]);
    paintMarks(marks, image, taken, model, layout, this.chosen < 0 ? null : kin.flags, this.scale ?? 1);
    paintLines(lines, model, layout, this.chosen < 0 ? null : kin.flags, this.shown(), this.pointed);
    this.took = performance.now() - begin;
    this.dataset.shown = String(model.count);
    this.hint();
  }

  hint() {
    const { model, layout, tip, pointed } = this;
    const columns = this.store?.columns;
    if (!tip || !model || !layout || !columns) return;
    tip.hide();
    if (pointed < 0 || this.drag?.held) return;
    const depth = `${model.depth[pointed]} steps from its seed`;
    const about = `${this.worth(pointed)}, ${originOf(columns, pointed)}, ${depth}`;
    const words = `Candidate ${nameOf(columns, pointed)}: ${about}.`;
    tip.show(words, across(layout, model.xs[pointed]), layout.ys[pointed], layout.width);
  }

  /** @param {number} at */
  worth(at) {
    const columns = this.store?.columns;
    if (!columns) return "";
    const value = columns.fitness[at];
    return value === null ? columns.outcomes[columns.outcome[at]] : `${scoreWord()} ${number(asScore(value))}`;
  }

  /**
   * Lights a candidate with all its kin.
   * @param {number} at
   * @param {boolean} told whether the address and the table follow
   */
  choose(at, told = true) {
    const { model } = this;
    const columns = this.store?.columns;
    if (!model || !columns || !this.side) return;
    this.chosen = at;
    this.side.setAttribute("aria-live", told ? "polite" : "off"); // what a run at work adds is not read out
    const shown = this.shown();
    this.kin = relativesOf(model, shown);
    if (told) {
      this.dataset.at = at < 0 ? "" : nameOf(columns, at);
      this.tell();
      window.clearTimeout(this.wait);
      this.wait = window.setTimeout(() => this.accompany(at), 150);
    }
    this.say(shown);
    this.later();
  }

  /** Has the table and an open inspector show what was chosen. @param {number} at */
  accompany(at) {
    const columns = this.store?.columns;
    fetchLine(this.dataset.run, this.dataset.at);
    const shown = inspected();
    if (at >= 0 && columns && shown && shown !== nameOf(columns, at)) this.inspect(at, false);
  }

  /** @param {number} at */
  say(at) {
    const { model, kin, side } = this;
    const columns = this.store?.columns;
    if (!model || !kin || !side || !columns) return;
    if (at < 0) {
      side.textContent = "No valid candidate yet.";
      return;
    }
    const counted = (/** @type {number} */ count, /** @type {string} */ word) =>
      `${number(count)} ${word}${count === 1 ? "" : "s"}`;
    const family = `${counted(kin.ancestors, "ancestor")}, ${counted(kin.descendants, "descendant")}`;
    const link = makeLink(this.dataset.run, nameOf(columns, at));
    const words = `: ${this.worth(at)}, ${originOf(columns, at)}, depth ${model.depth[at]}, ${family}.`;
    side.replaceChildren(at === this.chosen ? "Chosen: " : "Best: ", link, words);
  }

  /** The address says what is seen. */
  tell() {
    const { x = "", lanes = "", at = "" } = this.dataset;
    const [from, to] = this.whole ? ["", ""] : [this.view.from.toFixed(2), this.view.to.toFixed(2)];
    keep({ x, lanes, at, from, to });
  }

  /** Links of the page that choose a candidate or an axis do it here. @param {MouseEvent} event */
  follow(event) {
    const link = event.target instanceof Element ? event.target.closest("a[data-at], a[data-choice]") : null;
    if (
      !(link instanceof HTMLAnchorElement) ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      event.button ||
      !this.model
    )
      return;
    const { choice, value, at } = link.dataset;
    const place = at === undefined ? -1 : this.placeOf(at);
    if (at && place < 0) return;
    event.preventDefault();
    if (at !== undefined) {
      this.choose(place);
      this.map?.scrollIntoView({ block: "nearest" });
      return;
    }
    if (choice === "x" && this.dataset.x !== value) this.whole = true;
    this.dataset[choice ?? ""] = value;
    for (const other of this.querySelectorAll(`a[data-choice="${choice}"]`)) {
      if (other === link) other.setAttribute("aria-current", "true");
      else other.removeAttribute("aria-current");
    }
    this.renew();
    this.tell();
  }

  /** @param {string} key @returns {boolean} whether it means something here */
  press(key) {
    const { model } = this;
    const columns = this.store?.columns;
    if (!model || !columns) return false;
    const at = this.shown();
    const view = viewAfter(key, this.view);
    if (view) this.look(...view);
    if (view) return true;
    switch (key) {
      case "ArrowUp":
        if (at >= 0 && model.parent[at] >= 0) this.choose(model.parent[at]);
        break;
      case "ArrowDown": {
        const child = at < 0 ? -1 : bestChild(model, at);
        if (child >= 0) this.choose(child);
        break;
      }
      case "Enter":
        if (at >= 0) this.inspect(at, true);
        break;
      case "Escape":
        this.choose(-1);
        break;
      default:
        return false;
    }
    return true;
  }

  /** Shows a part of the axis, inside of the run. @param {number} from @param {number} to */
  look(from, to) {
    if (!this.model) return;
    const low = this.start();
    const high = this.model.end;
    const wide = Math.min(to - from, high - low);
    const begin = Math.max(low, Math.min(high - wide, from === -Infinity ? low : from));
    this.whole = wide >= high - low;
    this.view = { from: begin, to: begin + wide };
    this.later();
    window.clearTimeout(this.told);
    this.told = window.setTimeout(() => this.tell(), 250);
  }

  /**
   * Who looks at the map with the keyboard on it, or holds Ctrl, zooms; others scroll the page.
   * @param {WheelEvent} event
   */
  wheel(event) {
    if (!this.layout || !(event.ctrlKey || event.metaKey || document.activeElement === this.map)) return;
    event.preventDefault();
    const wide = this.view.to - this.view.from;
    const share = (event.offsetX - LEFT) / (this.layout.width - LEFT - RIGHT);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.look(this.view.from + (wide * event.deltaX) / 1000, this.view.to + (wide * event.deltaX) / 1000);
    else this.look(...zoomed(this.view, 1.002 ** -event.deltaY, Math.max(0, Math.min(1, share))));
  }

  /** @param {PointerEvent} event @param {PointerEvent} from */
  pan(event, from) {
    const { layout, map, grabbed } = this;
    if (!layout || !map || !grabbed) return;
    map.classList.add("dragging");
    const by = ((from.clientX - event.clientX) / (layout.width - LEFT - RIGHT)) * (grabbed.to - grabbed.from);
    this.look(grabbed.from + by, grabbed.to + by);
  }

  /** @param {number} at */
  point(at) {
    if (at === this.pointed) return;
    this.pointed = at;
    this.later();
  }

  /** The candidate at the pointer. @param {PointerEvent} event */
  nearest(event) {
    const { model, layout, map } = this;
    if (!model || !layout || !map) return -1;
    const box = map.getBoundingClientRect();
    return nearestTo(model, layout, event.clientX - box.left, event.clientY - box.top);
  }
}

customElements.define("lineage-map", LineageMap);

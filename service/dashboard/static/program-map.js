// <program-map data-src data-run data-colour>: the programs of a run in a plane, near each other those with similar
// tokens. The service places them; the map asks until all are placed.
// @ts-check
import { nameOf, placeOf } from "./candidate-name.js";
import { Tip, fitted, nearestMark } from "./canvas-chart.js";
import { chartData } from "./chart-data.js";
import { onChoice } from "./choices.js";
import { inTurn } from "./frames.js";
import { inspect, inspected, onInspected } from "./inspect.js";
import { MarkWalk } from "./mark-walk.js";
import { number } from "./numbers.js";
import { FAILURE, colour, entry, islandColour, islandShape, mark, onTheme, ring, tint, tints } from "./palette.js";
import { bestUntil, replayedRecords } from "./records.js";
import { Replay } from "./replay.js";
import { asScore, scoreWord } from "./score.js";

const PAD = 16;
const MAX_HEIGHT = 460;
const SIZE = 4;
const NEAR = 14;
const WALKED = 200; // so many of the fittest are reached by keys
const NAMED = 12; // entries of a legend
const TINTS = 16;
const FAINT_SHARE = 0.1; // of the valid ones, which all have the faintest tint
const DRAWN_AT_ONCE = 2500; // marks in one task
const WAIT_MILLISECONDS = 5000;

/**
 * @typedef {object} Programs columns of equal length
 * @property {number} total
 * @property {boolean} complete
 * @property {string[]} outcomes
 * @property {string[]} operators
 * @property {number[]} place
 * @property {number[]} proposal_number
 * @property {number[]} position
 * @property {number[]} island
 * @property {number[]} outcome
 * @property {number[]} operator
 * @property {(number | null)[]} fitness
 * @property {number[]} x
 * @property {number[]} y
 */
/** @typedef {"fitness" | "island" | "operator"} Colour */

/**
 * Where marks are in a picture: a unit is as long across as upwards, whatever the picture's form.
 * @param {Pick<Programs, "x" | "y">} programs @param {number} width @param {number} height
 */
export function positionsIn(programs, width, height) {
  const [across, up] = [programs.x, programs.y].map(rangeOf);
  const room = [width, height].map((side) => side - 2 * PAD);
  const unit = Math.min(room[0] / (across[1] - across[0] || 1), room[1] / (up[1] - up[0] || 1));
  const [left, top] = [across, up].map(([low, high], side) => [width, height][side] / 2 - (unit * (low + high)) / 2);
  return programs.x.map((x, at) => [left + unit * x, height - (top + unit * programs.y[at])]);
}

/** @param {number[]} values @returns {[number, number]} */
function rangeOf(values) {
  return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
}

/** From where to where tints reach; the least fit share has one tint. @param {(number | null)[]} fitness */
export function tintRange(fitness) {
  const valid = /** @type {number[]} */ (fitness.filter((value) => value !== null)).sort((a, b) => a - b);
  return [valid[Math.floor(FAINT_SHARE * valid.length)] ?? 0, valid[valid.length - 1] ?? 0];
}

/** The failures first, then the valid ones, the fittest last: it lies above the others. @param {Programs} programs */
function paintOrder(programs) {
  const worth = programs.fitness.map((value) => value ?? -Infinity);
  return worth.map((_, at) => at).sort((a, b) => (worth[a] === worth[b] ? b - a : worth[a] < worth[b] ? -1 : 1));
}

class ProgramMap extends HTMLElement {
  frame = 0;
  asked = 0;
  drawing = 0;
  near = -1;
  best = -1;
  /** Places among the columns of what is shown, in the order in which it is drawn. @type {number[]} */
  seen = [];
  /** @type {number[][]} */
  spots = [];

  connectedCallback() {
    this.build();
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(this);
    onTheme(() => this.later());
    onInspected(() => this.later());
    this.news = () => {
      this.asked ||= window.setTimeout(() => void this.read(), WAIT_MILLISECONDS);
    };
    document.addEventListener("evolve:news", this.news);
    onChoice(this, "colour", () => this.later());
    void this.read();
  }

  disconnectedCallback() {
    if (this.news) document.removeEventListener("evolve:news", this.news);
    this.resize?.disconnect();
  }

  build() {
    const plot = document.createElement("div");
    plot.className = "plot";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Map of programs, not drawn yet");
    this.tip = new Tip();
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    plot.append(this.canvas, this.tip.element);
    this.append(plot, this.legend);
    this.replay = new Replay(this, {
      run: this.dataset.run ?? "",
      show: () => this.later(),
      ...replayedRecords(() => this.programs),
    });
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      this.near = -1;
      this.tip?.hide();
    });
    this.canvas.addEventListener("click", () => this.open(this.near, false));
    new MarkWalk(plot, "The fittest programs on the map, the best first", {
      order: () =>
        [...this.seen]
          .reverse()
          .filter((at) => this.programs?.fitness[at] !== null)
          .slice(0, WALKED),
      show: (at) => this.tell(at),
      open: (at) => this.open(at, true),
      leave: () => this.tip?.hide(),
    });
  }

  /** Reads the map until all programs are on it. */
  async read() {
    this.asked = 0;
    if (this.busy) return;
    this.busy = true;
    for (;;) {
      const found = await chartData(this, this.dataset.src ?? "", () => void this.read());
      if (found) this.take(found);
      if (!found || found.complete || !this.isConnected) break;
    }
    this.busy = false;
  }

  /** @param {Programs} found */
  take(found) {
    this.programs = found;
    this.order = paintOrder(found);
    this.replay?.take(found.total);
    this.later();
    if (found.complete) document.dispatchEvent(new Event("evolve:placed"));
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    const { programs, canvas, replay } = this;
    if (!programs?.place.length || !canvas || !replay || !this.isConnected) return;
    const height = Math.min(MAX_HEIGHT, Math.max(300, Math.round(this.clientWidth * 0.7)));
    const { pen, width } = fitted(canvas, height);
    const until = replay.atEnd ? programs.total : replay.until;
    this.spots = positionsIn(programs, width, height);
    this.seen = (this.order ?? []).filter((at) => programs.place[at] < until);
    this.best = bestUntil(programs, until);
    this.drawing += 1;
    this.paint(pen, this.stamps(), 0, this.drawing);
    this.explain(until);
  }

  /**
   * Draws some of the marks, and the others in the next frames.
   * @param {CanvasRenderingContext2D} pen @param {(at: number) => HTMLCanvasElement} stamp
   * @param {number} from @param {number} drawing
   */
  paint(pen, stamp, from, drawing) {
    if (drawing !== this.drawing) return;
    const { seen } = this;
    const half = SIZE + 2;
    for (const at of seen.slice(from, from + DRAWN_AT_ONCE)) {
      const [x, y] = this.spots[at];
      pen.drawImage(stamp(at), x - half, y - half, 2 * half, 2 * half);
    }
    const next = from + DRAWN_AT_ONCE;
    if (next < seen.length) {
      requestAnimationFrame(() => this.paint(pen, stamp, next, drawing));
      return;
    }
    const { best, programs } = this;
    const shown = programs ? placeOf(programs, inspected()) : -1;
    if (best >= 0) this.frameMark(pen, best, SIZE + 4, colour("ink"));
    if (shown >= 0) ring(pen, this.spots[shown][0], this.spots[shown][1], 9);
    this.dataset.shown = String(seen.length);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} at @param {number} size @param {string} tone */
  frameMark(pen, at, size, tone) {
    pen.strokeStyle = tone;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(this.spots[at][0], this.spots[at][1], size, 0, 2 * Math.PI);
    pen.stroke();
  }

  /** The drawn mark of each candidate; those that look alike share one. */
  stamps() {
    const programs = /** @type {Programs} */ (this.programs);
    const [low, high] = tintRange(programs.fitness);
    /** @type {Map<string, HTMLCanvasElement>} */
    const made = new Map();
    const get = (/** @type {string} */ key, /** @type {string} */ shape, /** @type {() => string} */ hue) => {
      const found = made.get(key) ?? stampOf(shape, hue());
      made.set(key, found);
      return found;
    };
    return (/** @type {number} */ at) => {
      const value = programs.fitness[at];
      if (value === null) return get("failed", FAILURE, () => colour("bad"));
      if (this.dataset.colour === "fitness") {
        const share = high > low ? Math.max(0, (value - low) / (high - low)) : 1;
        const step = Math.round(share * (TINTS - 1));
        return get(`tint ${step}`, "circle", () => tint(step / (TINTS - 1)));
      }
      const kind = this.dataset.colour === "island" ? programs.island[at] : programs.operator[at];
      return get(`kind ${kind}`, islandShape(kind), () => islandColour(kind));
    };
  }

  /** @param {number} until */
  explain(until) {
    const programs = /** @type {Programs} */ (this.programs);
    const { best, seen } = this;
    const failed = entry(FAILURE, colour("bad"), "failed");
    const ringed = document.createElement("li");
    ringed.textContent = "◯ the best";
    this.legend?.replaceChildren(...this.meanings(programs), failed, ringed);
    const moment = `After ${number(until)} evaluations: ${number(seen.length)} on the map`;
    const words = `${moment}, ${best < 0 ? "nothing valid" : `best ${this.worth(best)}`}.`;
    this.replay?.tell(words);
    this.canvas?.setAttribute("aria-label", `Programs by their similarity. ${words} The tables below list them.`);
  }

  /** What the colours mean. @param {Programs} programs */
  meanings(programs) {
    if (this.dataset.colour === "fitness") {
      const item = document.createElement("li");
      const [low, high] = tintRange(programs.fitness).map((value) => number(asScore(value)));
      const beyond = scoreWord() === "fitness" ? "or less" : "or worse";
      item.className = "scale";
      item.append(`${scoreWord()} ${low} ${beyond}`, tints(), high);
      return [item];
    }
    const islands = this.dataset.colour === "island";
    const kinds = [...new Set(islands ? programs.island : programs.operator)].sort((a, b) => a - b);
    return kinds
      .slice(0, NAMED)
      .map((kind) =>
        entry(
          islandShape(kind),
          islandColour(kind),
          islands ? `island ${kind}` : programs.operators[kind].slice(0, 40),
        ),
      );
  }

  /** @param {number} at */
  worth(at) {
    const programs = /** @type {Programs} */ (this.programs);
    const value = programs.fitness[at];
    return value === null ? programs.outcomes[programs.outcome[at]] : `${scoreWord()} ${number(asScore(value))}`;
  }

  /** Has the tip tell of a candidate. @param {number} at */
  tell(at) {
    const { programs, best, tip, canvas } = this;
    if (!programs || !tip || !canvas) return;
    const away = best < 0 ? "" : `, ${number(this.between(at, best), 3)} from the best`;
    const origin = `island ${programs.island[at]}, ${programs.operators[programs.operator[at]].slice(0, 40)}`;
    const words = `${nameOf(programs, at)}, ${origin}: ${this.worth(at)}${away}. Click to inspect.`;
    tip.show(words, this.spots[at][0], this.spots[at][1], canvas.clientWidth);
  }

  /** The distance of two candidates on the map. @param {number} one @param {number} other */
  between(one, other) {
    const { x, y } = /** @type {Programs} */ (this.programs);
    return Math.hypot(x[one] - x[other], y[one] - y[other]);
  }

  /** @param {MouseEvent} event */
  point(event) {
    if (!this.canvas) return;
    const fittestFirst = [...this.seen].reverse();
    const near = nearestMark(fittestFirst, (at) => this.spots[at], event.offsetX, event.offsetY, NEAR);
    this.near = near;
    this.canvas.style.cursor = near < 0 ? "default" : "pointer";
    if (near < 0) this.tip?.hide();
    else this.tell(near);
  }

  /** @param {number} at @param {boolean} keyboard */
  open(at, keyboard) {
    const { canvas, programs } = this;
    if (!programs || !canvas || at < 0) return;
    const x = canvas.getBoundingClientRect().left + this.spots[at][0];
    inspect(this, nameOf(programs, at), { origin: canvas.parentElement, keyboard, x });
  }
}

/** A mark drawn once, to be copied. @param {string} shape @param {string} hue */
function stampOf(shape, hue) {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const ratio = devicePixelRatio || 1;
  const half = SIZE + 2;
  canvas.width = canvas.height = Math.ceil(2 * half * ratio);
  if (!pen) return canvas;
  pen.scale(ratio, ratio);
  pen.fillStyle = pen.strokeStyle = hue;
  pen.lineWidth = 1.5;
  mark(pen, shape, half, half, shape === "cross" ? SIZE - 1 : SIZE);
  if (shape === "circle") {
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 0.5;
    pen.stroke();
  }
  return canvas;
}

customElements.define("program-map", ProgramMap);

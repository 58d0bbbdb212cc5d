// How the map of a run is painted: a ground of lanes, marks stamped pixel by pixel, and lines of descent above them.
// @ts-check
import { drawAcross, nearestMark } from "./canvas-chart.js";
import { number, roundStep, ticksBy } from "./numbers.js";
import { FAILURE, colour, islandColour, islandShape, mark, onTheme } from "./palette.js";
import { asScore, scoreWord } from "./score.js";
import { DESCENDANT, firstAt } from "./lineage-model.js";

/** @typedef {import("./lineage-model.js").Model} Model */
/**
 * @typedef {object} Layout
 * @property {number} width in pixels of the page
 * @property {number} height
 * @property {number} lanes
 * @property {number} lane height of one
 * @property {Float32Array} ys of each candidate
 * @property {{from: number, to: number}} view what is shown of the axis
 */

export const LEFT = 64;
export const RIGHT = 14;
export const TOP = 12;
export const BOTTOM = 40;
export const GUTTER = 16;
export const MAX_LANES = 24;
const REACH = 9;
const FEW = 3000;
const MAX_EDGES = 1500;
const DIM = 0.16;
const FULL = 0.85;
const COLOURS = 8;

const colours = { ink: "", soft: "", line: "", sunk: "", raised: "", accent: "", bad: "" };
/** @type {Map<string, {offsets: Int16Array, values: Uint32Array}>} */
const stamps = new Map();
function readColours() {
  for (const name of /** @type {(keyof typeof colours)[]} */ (Object.keys(colours))) colours[name] = colour(name);
  stamps.clear();
}
readColours();
onTheme(readColours);

/**
 * Where candidates stand in height.
 * @param {Model} model
 * @param {number} width
 * @param {boolean} stacked
 * @param {{from: number, to: number}} view
 * @returns {Layout}
 */
export function layoutOf(model, width, stacked, view) {
  const lanes = stacked ? Math.min(model.islands, MAX_LANES) : 1;
  const lane = Math.max(28, Math.min(lanes === 1 ? 400 : 150, 640 / lanes));
  const ys = new Float32Array(model.count);
  const room = lane - GUTTER - 6;
  const span = model.high - model.low || 1;
  for (let at = 0; at < model.count; at += 1) {
    const top = TOP + (lanes === 1 ? 0 : Math.min(model.island[at], lanes - 1)) * lane;
    const value = model.fitness[at];
    ys[at] = Number.isNaN(value)
      ? top + lane - GUTTER / 2
      : top + 3 + room * Math.min(1, Math.max(0, (model.high - value) / span));
  }
  return { width, height: TOP + lanes * lane + BOTTOM, lanes, lane, ys, view };
}

/** Where a value of the axis is. @param {Layout} layout @param {number} x */
export function across(layout, x) {
  return LEFT + ((x - layout.view.from) / (layout.view.to - layout.view.from)) * (layout.width - LEFT - RIGHT);
}

/**
 * Lanes, axes and moves between islands.
 * @param {CanvasRenderingContext2D} pen
 * @param {Model} model
 * @param {Layout} layout
 * @param {string} words of the axis
 */
export function paintGround(pen, model, layout, words) {
  const right = layout.width - RIGHT;
  const foot = TOP + layout.lanes * layout.lane;
  pen.clearRect(0, 0, layout.width, layout.height);
  pen.font = "12px system-ui";
  pen.lineWidth = 1;
  for (let lane = 0; lane < layout.lanes; lane += 1) {
    const top = TOP + lane * layout.lane;
    pen.fillStyle = colours.raised;
    pen.fillRect(LEFT, top + layout.lane - GUTTER, right - LEFT, GUTTER - 2);
    pen.strokeStyle = colours.line;
    pen.strokeRect(LEFT - 0.5, top + 0.5, right - LEFT + 1, layout.lane - 2);
    pen.textAlign = "right";
    pen.fillStyle = layout.lanes > 1 ? islandColour(lane) : colours.soft;
    pen.fillText(layout.lanes > 1 ? `island ${lane}` : scoreWord(), LEFT - 6, top + layout.lane / 2);
    pen.fillStyle = colours.soft;
    if (layout.lane < 60) continue;
    pen.fillText(number(asScore(model.high), 3), LEFT - 6, top + 10);
    pen.fillText(number(asScore(model.low), 3), LEFT - 6, top + layout.lane - GUTTER - 2);
  }
  const { from, to } = layout.view;
  const step = Math.max(1, roundStep((to - from) / Math.max(2, (right - LEFT) / 110)));
  const ticks = ticksBy(from, to, step).map((x) => ({ at: across(layout, x), text: number(x) }));
  drawAcross(pen, { left: LEFT, right, top: TOP, foot, width: layout.width, height: layout.height }, ticks, words);
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  moves(pen, model, layout);
}

/** @param {CanvasRenderingContext2D} pen @param {Model} model @param {Layout} layout */
function moves(pen, model, layout) {
  /** @param {number} island */
  const middle = (island) => TOP + (Math.min(island, layout.lanes - 1) + 0.5) * layout.lane;
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, layout.width - LEFT - RIGHT, layout.height);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = colours.soft;
  pen.globalAlpha = 0.45;
  pen.beginPath();
  let last = -Infinity;
  for (const one of model.moves) {
    const x = across(layout, one.x);
    if (one.place > model.until) continue;
    if (x < LEFT - 40 || x > layout.width + 40) continue;
    if (one.kind === "island.reset") {
      pen.fillText("↺", x, layout.lanes > 1 ? middle(one.to) : TOP + 10);
      continue;
    }
    if (layout.lanes === 1) {
      pen.moveTo(x, TOP);
      pen.lineTo(x, TOP + 7);
      continue;
    }
    if (x - last < 1.5) continue;
    last = x;
    const from = middle(one.from);
    const to = middle(one.to);
    pen.moveTo(x, from);
    pen.quadraticCurveTo(x + Math.min(30, 6 + Math.abs(to - from) / 8), (from + to) / 2, x, to);
    pen.moveTo(x + 2, to);
    pen.arc(x, to, 2, 0, 2 * Math.PI);
  }
  pen.stroke();
  pen.restore();
}

/**
 * Stamps all marks in view; those without a flag are dim where `flags` says who counts. Marks of one colour that
 * would cover each other are stamped once, so that the work is bounded by the pixels.
 * @param {CanvasRenderingContext2D} pen
 * @param {ImageData} image
 * @param {Uint8Array} taken
 * @param {Model} model
 * @param {Layout} layout
 * @param {Uint8Array | null} flags
 * @param {number} scale
 */
export function paintMarks(pen, image, taken, model, layout, flags, scale) {
  const pixels = new Uint32Array(image.data.buffer);
  const wide = image.width;
  const { view, ys } = layout;
  const lo = firstAt(model.sorted, view.from);
  const hi = firstAt(model.sorted, view.to + 1e-9);
  const size = (hi - lo > FEW ? 1.6 : 2.8) * scale;
  const cells = (wide >> 1) + 1;
  const factor = ((layout.width - LEFT - RIGHT) * scale) / (view.to - view.from);
  const shift = LEFT * scale - view.from * factor;
  pixels.fill(0);
  for (const lit of flags ? [0, 1] : [1]) {
    const set = Array.from({ length: COLOURS + 1 }, (_, code) => stampOf(code, size, lit ? FULL : DIM));
    taken.fill(0);
    for (let place = lo; place < hi; place += 1) {
      const at = model.order[place];
      if (at >= model.until) continue;
      if (flags && (flags[at] !== 0) !== (lit === 1)) continue;
      const x = (model.sorted[place] * factor + shift) | 0;
      const y = (ys[at] * scale) | 0;
      const code = Number.isNaN(model.fitness[at]) ? COLOURS : model.island[at] % COLOURS;
      const cell = (y >> 1) * cells + (x >> 1);
      if (taken[cell] === code + 1) continue;
      taken[cell] = code + 1;
      const { offsets, values } = set[code];
      for (let part = 0; part < values.length; part += 1) {
        pixels[(y + offsets[2 * part + 1]) * wide + x + offsets[2 * part]] = values[part];
      }
    }
  }
  pen.putImageData(image, 0, 0);
}

/**
 * The pixels of a mark.
 * @param {number} code of an island, or `COLOURS` for a failure
 * @param {number} size
 * @param {number} strength
 */
function stampOf(code, size, strength) {
  const name = `${code} ${size} ${strength}`;
  const held = stamps.get(name);
  if (held) return held;
  const canvas = document.createElement("canvas");
  const radius = Math.ceil(1.5 * size) + 1;
  const side = 2 * radius + 1;
  canvas.width = canvas.height = side;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  pen.fillStyle = pen.strokeStyle = code === COLOURS ? colours.bad : islandColour(code);
  pen.globalAlpha = strength;
  pen.lineWidth = Math.max(1, size / 2);
  mark(
    pen,
    code === COLOURS ? FAILURE : islandShape(code),
    radius + 0.5,
    radius + 0.5,
    code === COLOURS ? 0.8 * size : size,
  );
  const all = new Uint32Array(pen.getImageData(0, 0, side, side).data.buffer);
  const places = [...all.keys()].filter((at) => all[at] >>> 24 > 24);
  const offsets = Int16Array.from(places.flatMap((at) => [(at % side) - radius, Math.floor(at / side) - radius]));
  const made = { offsets, values: Uint32Array.from(places, (at) => all[at]) };
  stamps.set(name, made);
  return made;
}

/**
 * Lines from parents to children: of a candidate to its seed, and to what came of it.
 * @param {CanvasRenderingContext2D} pen
 * @param {Model} model
 * @param {Layout} layout
 * @param {Uint8Array | null} flags who is related; null: none is shown but the line
 * @param {number} top whose line is drawn; -1: nobody's
 * @param {number} pointed
 */
export function paintLines(pen, model, layout, flags, top, pointed) {
  pen.clearRect(0, 0, layout.width, layout.height);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT - 6, 0, layout.width - LEFT - RIGHT + 12, layout.height);
  pen.clip();
  pen.strokeStyle = colours.soft;
  pen.beginPath();
  const seen = flags ? edges(model, layout.view, flags, top) : [];
  for (const at of seen) {
    pen.moveTo(across(layout, model.xs[model.parent[at]]), layout.ys[model.parent[at]]);
    pen.lineTo(across(layout, model.xs[at]), layout.ys[at]);
  }
  pen.globalAlpha = Math.max(0.1, Math.min(0.6, 40 / seen.length));
  pen.stroke();
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  for (let at = top; at >= 0; at = model.parent[at]) {
    if (at === top) pen.moveTo(across(layout, model.xs[at]), layout.ys[at]);
    else pen.lineTo(across(layout, model.xs[at]), layout.ys[at]);
  }
  pen.stroke();
  for (const [at, size] of [
    [top, 6],
    [pointed, 5],
  ]) {
    if (at < 0) continue;
    pen.strokeStyle = at === top ? colours.accent : colours.ink;
    pen.beginPath();
    pen.arc(across(layout, model.xs[at]), layout.ys[at], size, 0, 2 * Math.PI);
    pen.stroke();
  }
  pen.restore();
}

/**
 * Descendants whose line from the parent is in view. There are none where they are too many to tell apart: then the
 * marks alone show them.
 * @param {Model} model
 * @param {{from: number, to: number}} view
 * @param {Uint8Array} flags
 * @param {number} top
 */
function edges(model, view, flags, top) {
  const found = [];
  for (let at = top + 1; at < model.until; at += 1) {
    if (flags[at] !== DESCENDANT) continue;
    const x = model.xs[at];
    const origin = model.xs[model.parent[at]];
    if (Math.max(x, origin) < view.from || Math.min(x, origin) > view.to) continue;
    if (found.push(at) > MAX_EDGES) return [];
  }
  return found;
}

/**
 * The candidate nearest to a point of the page, within reach; -1: none is. Only those near it across are looked at.
 * @param {Model} model @param {Layout} layout @param {number} x @param {number} y
 */
export function nearestTo(model, layout, x, y) {
  const wide = (layout.view.to - layout.view.from) / (layout.width - LEFT - RIGHT);
  const middle = layout.view.from + (x - LEFT) * wide;
  const [low, high] = [-REACH, REACH].map((off) => firstAt(model.sorted, middle + off * wide));
  const place = (/** @type {number} */ at) => [across(layout, model.xs[at]), layout.ys[at]];
  const seen = model.order.subarray(low, high).filter((at) => at < model.until);
  return nearestMark(seen, place, x, y, REACH);
}

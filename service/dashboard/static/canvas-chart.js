// Charts on canvases share this module: a sharp canvas, scales with their ticks, axes, tips, and drags of a pointer.
// Charts of uPlot take their axes from axes.js, and their tips from here. numbers.js writes the numbers of both.
// @ts-check
import { logTicks, number, tickTexts, ticks } from "./numbers.js";
import { colour } from "./palette.js";

const TIP_GAP = 14;
const STILL = 4; // pixels that a press may move and still be a click
const MIN_WIDTH = 280;

/** @typedef {{at: number, text: string}} Tick a place of an axis, in pixels of the picture, and the words there */
/**
 * @typedef {object} Frame the part of a picture inside of its axes
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} foot
 * @property {number} width of the whole picture
 * @property {number} height
 */

/** From values to shares of an axis and back, from 0 at its begin to 1 at its end. */
export class Scale {
  /** @param {number} low @param {number} high @param {{log?: boolean, flipped?: boolean}} [choices] */
  constructor(low, high, { log = false, flipped = false } = {}) {
    this.low = low;
    this.high = high;
    this.log = log;
    this.flipped = flipped;
  }

  /** @param {number} value */
  share(value) {
    const [low, high, here] = this.log ? [this.low, this.high, value].map(Math.log) : [this.low, this.high, value];
    const share = high > low ? (here - low) / (high - low) : 0.5;
    return this.flipped ? 1 - share : share;
  }

  /** The value at a share; those outside of the axis are at its ends. @param {number} share */
  value(share) {
    const part = Math.min(1, Math.max(0, this.flipped ? 1 - share : share));
    return this.log ? this.low * (this.high / this.low) ** part : this.low + part * (this.high - this.low);
  }

  /** Where a value is between two places of a picture. @param {number} value @param {number} from @param {number} to */
  at(value, from, to) {
    return from + this.share(value) * (to - from);
  }

  /**
   * About so many round values with their words.
   * @param {number} count
   * @param {number} from place of share 0
   * @param {number} to
   * @returns {Tick[]}
   */
  ticks(count, from, to) {
    const logarithmic = this.log && this.high > this.low;
    const values = logarithmic ? logTicks(this.low, this.high, count) : ticks(this.low, this.high, count);
    const texts = logarithmic ? values.map((value) => number(value)) : tickTexts(values);
    return values.map((value, which) => ({ at: this.at(value, from, to), text: texts[which] }));
  }
}

/**
 * An axis across the foot, with a line for each tick, and its title below.
 * @param {CanvasRenderingContext2D} pen
 * @param {Frame} frame
 * @param {Tick[]} marks
 * @param {string} title
 * @param {{lines?: boolean}} [choices]
 */
export function drawAcross(pen, frame, marks, title, { lines = true } = {}) {
  const { left, right, top, foot } = frame;
  begin(pen, "center", "top");
  for (const { at, text } of marks) {
    if (lines) line(pen, crisp(at), top, crisp(at), foot);
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(at, frame.width - half), foot + 6);
  }
  pen.fillStyle = colour("ink");
  pen.textBaseline = "bottom";
  pen.fillText(fit(pen, title, right - left), (left + right) / 2, frame.height - 4);
}

/**
 * An axis upwards on the left, with a line for each tick, and its title along it.
 * @param {CanvasRenderingContext2D} pen
 * @param {Frame} frame
 * @param {Tick[]} marks
 * @param {string} title
 * @param {{lines?: boolean}} [choices]
 */
export function drawUp(pen, frame, marks, title, { lines = true } = {}) {
  const { left, right, top, foot } = frame;
  begin(pen, "right", "middle");
  for (const { at, text } of marks) {
    if (lines) line(pen, left, crisp(at), right, crisp(at));
    pen.fillText(text, left - 6, at);
  }
  pen.save();
  pen.fillStyle = colour("ink");
  pen.textAlign = "center";
  pen.translate(13, (top + foot) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(fit(pen, title, foot - top), 0, 0);
  pen.restore();
}

/** @param {CanvasRenderingContext2D} pen @param {CanvasTextAlign} align @param {CanvasTextBaseline} baseline */
function begin(pen, align, baseline) {
  pen.strokeStyle = colour("sunk");
  pen.fillStyle = colour("soft");
  pen.lineWidth = 1;
  pen.textAlign = align;
  pen.textBaseline = baseline;
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} toX @param {number} toY */
function line(pen, x, y, toX, toY) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
}

/** The middle of a pixel. @param {number} at */
function crisp(at) {
  return Math.round(at) + 0.5;
}

/** Text no longer than a width. @param {CanvasRenderingContext2D} pen @param {string} text @param {number} width */
export function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let cut = text.slice(0, 200);
  while (cut.length > 1 && pen.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

/** Colours of the theme that a chart needs. @param {string[]} names @returns {Record<string, string>} */
export function colours(...names) {
  return Object.fromEntries(names.map((name) => [name, colour(name)]));
}

/**
 * A canvas as large as its place, for sharp lines; its pen draws in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height
 */
export function fitted(canvas, height) {
  const width = Math.max(MIN_WIDTH, canvas.parentElement?.clientWidth ?? 600);
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width };
}

/** A few words beside the pointer, on the side that has the room. */
export class Tip {
  constructor() {
    this.element = document.createElement("div");
    this.element.className = "tip";
    this.element.hidden = true;
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param {string} words @param {number} x @param {number} y @param {number} width of the picture */
  show(words, x, y, width) {
    const { style } = this.element;
    const left = x > width / 2;
    this.element.textContent = words;
    this.element.hidden = false;
    style.left = left ? "auto" : `${x + TIP_GAP}px`;
    style.right = left ? `${width - x + TIP_GAP}px` : "auto";
    style.top = `${Math.max(0, y - 20)}px`;
  }
}

/**
 * The mark nearest to a point within reach; -1: none is.
 * @param {Iterable<number>} marks
 * @param {(mark: number) => number[]} place
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 */
export function nearestMark(marks, place, x, y, reach) {
  let near = -1;
  let least = reach * reach;
  for (const one of marks) {
    const [left, top] = place(one);
    const away = (left - x) ** 2 + (top - y) ** 2;
    if (away < least) {
      least = away;
      near = one;
    }
  }
  return near;
}

/**
 * What a chart does with a pointer. Places are those of the event.
 * @typedef {object} DragActions
 * @property {(event: PointerEvent) => boolean} [press] whether a press here begins anything
 * @property {(event: PointerEvent, from: PointerEvent) => void} drag
 * @property {(event: PointerEvent) => void} [drop] the end of a drag
 * @property {(event: PointerEvent) => void} click a press that did not move
 * @property {(event: PointerEvent) => void} [hover]
 * @property {() => void} [leave]
 */

/** Presses of a pointer on an element: drags and clicks. */
export class Drag {
  /** @param {HTMLElement} element @param {DragActions} actions @param {boolean} [upright] moves to the side do not */
  constructor(element, actions, upright = false) {
    this.element = element;
    this.actions = actions;
    this.upright = upright;
    /** @type {PointerEvent | null} */
    this.held = null;
    this.moved = false;
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.release(event));
    element.addEventListener("pointercancel", (event) => this.cancel(event));
    element.addEventListener("pointerleave", () => actions.leave?.());
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button || this.actions.press?.(event) === false) return;
    this.held = event;
    this.moved = false;
    this.element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { held } = this;
    if (!held) {
      this.actions.hover?.(event);
      return;
    }
    const [across, down] = [event.clientX - held.clientX, event.clientY - held.clientY];
    this.moved ||= Math.hypot(this.upright ? 0 : across, down) >= STILL;
    if (this.moved) this.actions.drag(event, held);
  }

  /** @param {PointerEvent} event */
  release(event) {
    if (!this.held) return;
    this.held = null;
    if (this.moved) this.actions.drop?.(event);
    else this.actions.click(event);
  }

  /** @param {PointerEvent} event */
  cancel(event) {
    if (this.held && this.moved) this.actions.drop?.(event);
    this.held = null;
  }
}

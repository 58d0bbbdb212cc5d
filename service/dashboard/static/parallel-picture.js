// The picture of candidates over parallel axes: where values are, the lines, the axes with what is brushed on them.
// @ts-check
import { tickTexts, ticks } from "./numbers.js";
import { colours, fit } from "./objectives.js";
import { islandColour } from "./palette.js";

export const HEIGHT = 330;
const PAD = { side: 58, top: 40, bottom: 20 };
const MAX_LINES = 4000; // of those off the front; more are a surface, not lines

/** An axis of scores. `flipped`: smaller is up. */
export class Axis {
  /** @param {string} name @param {boolean} minimised @param {(at: number) => number} score */
  constructor(name, minimised, score) {
    this.name = name;
    this.minimised = minimised;
    this.score = score;
    this.flipped = minimised;
    this.log = false;
    /** @type {[number, number] | null} */
    this.brush = null;
    this.low = 0;
    this.high = 1;
  }

  /** Spans what there is. @param {number[]} places */
  cover(places) {
    this.low = Infinity;
    this.high = -Infinity;
    for (const at of places) {
      const value = this.score(at);
      if (value < this.low) this.low = value;
      if (value > this.high) this.high = value;
    }
    if (!this.loggable) this.log = false;
  }

  /** Whether all values have a logarithm. */
  get loggable() {
    return this.low > 0;
  }

  /** From the foot (0) to the head (1) of the axis. @param {number} value */
  share(value) {
    const [low, high, here] = this.log ? [this.low, this.high, value].map(Math.log) : [this.low, this.high, value];
    const share = high > low ? (here - low) / (high - low) : 0.5;
    return this.flipped ? 1 - share : share;
  }

  /** The value at a share. @param {number} share */
  value(share) {
    const part = Math.min(1, Math.max(0, this.flipped ? 1 - share : share));
    return this.log ? this.low * (this.high / this.low) ** part : this.low + part * (this.high - this.low);
  }

  /** Whether an evaluation is kept by this axis. @param {number} at */
  keeps(at) {
    if (!this.brush) return true;
    const value = this.score(at);
    const slack = 1e-6 * Math.max(Math.abs(value), this.high - this.low);
    return value >= this.brush[0] - slack && value <= this.brush[1] + slack;
  }
}

/** Where an axis stands. @param {number} which @param {number} count @param {number} width */
export function across(which, count, width) {
  return PAD.side + (which * (width - 2 * PAD.side)) / Math.max(1, count - 1);
}

/** @param {number} share */
export function up(share) {
  return PAD.top + (1 - share) * (HEIGHT - PAD.top - PAD.bottom);
}

/** The share of an axis at a height of the picture. @param {number} y */
export function shareAt(y) {
  return 1 - (y - PAD.top) / (HEIGHT - PAD.top - PAD.bottom);
}

/**
 * @param {CanvasRenderingContext2D} pen @param {number} width @param {Axis[]} axes
 * @param {{places: number[], kept: Set<number>, front: Set<number>, islands: number[]}} shown
 */
export function drawLines(pen, width, axes, shown) {
  const tone = colours("ink", "soft", "line", "accent", "ground");
  const some = shown.places.filter((at) => !shown.front.has(at));
  const step = Math.max(1, some.length / MAX_LINES);
  const drawn = Array.from({ length: Math.min(some.length, MAX_LINES) }, (_, one) => some[Math.floor(one * step)]);
  const draw = (
    /** @type {number[]} */ places,
    /** @type {(at: number) => string} */ hue,
    /** @type {number} */ alpha,
    /** @type {number} */ wide,
  ) => {
    pen.globalAlpha = alpha;
    pen.lineWidth = wide;
    for (const at of places) {
      pen.strokeStyle = hue(at);
      pen.beginPath();
      for (const [which, axis] of axes.entries()) {
        pen[which ? "lineTo" : "moveTo"](across(which, axes.length, width), up(axis.share(axis.score(at))));
      }
      pen.stroke();
    }
    pen.globalAlpha = 1;
  };
  const hue = (/** @type {number} */ at) => islandColour(shown.islands[at]);
  const front = [...shown.front];
  draw(
    [...drawn, ...front].filter((at) => !shown.kept.has(at)),
    () => tone.soft,
    0.07,
    1,
  );
  draw(
    drawn.filter((at) => shown.kept.has(at)),
    hue,
    Math.max(0.12, Math.min(0.5, 60 / (drawn.length + 1))),
    1,
  );
  draw(
    front.filter((at) => shown.kept.has(at)),
    hue,
    0.95,
    2,
  );
  const room = (width - 2 * PAD.side) / Math.max(1, axes.length - 1);
  for (const [which, axis] of axes.entries()) drawAxis(pen, axis, across(which, axes.length, width), room, tone);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {Axis} axis
 * @param {number} x
 * @param {number} room
 * @param {Record<string, string>} tone
 */
function drawAxis(pen, axis, x, room, tone) {
  pen.strokeStyle = tone.ink;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x, up(0));
  pen.lineTo(x, up(1));
  pen.stroke();
  pen.fillStyle = tone.ink;
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  pen.fillText(fit(pen, axis.name, Math.min(room - 6, 2 * PAD.side - 6)), x, 16);
  pen.fillStyle = tone.soft;
  pen.fillText(`${axis.flipped ? "smaller" : "larger"} is up${axis.log ? ", log" : ""}`, x, 31);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const values = axis.log || axis.high === axis.low ? [axis.low, axis.high] : ticks(axis.low, axis.high, 4);
  const texts = tickTexts(values);
  for (const [at, value] of values.entries()) {
    const y = up(axis.share(value));
    const words = texts[at];
    pen.fillStyle = tone.ground;
    pen.globalAlpha = 0.75;
    pen.fillRect(x - 8 - pen.measureText(words).width, y - 7, pen.measureText(words).width + 4, 14);
    pen.globalAlpha = 1;
    pen.fillStyle = tone.soft;
    pen.fillText(words, x - 6, y);
    pen.fillRect(x - 4, y - 0.5, 4, 1);
  }
  if (!axis.brush) return;
  const [one, other] = axis.brush.map((value) => up(Math.min(1, Math.max(0, axis.share(value)))));
  pen.fillStyle = pen.strokeStyle = tone.accent;
  pen.globalAlpha = 0.3;
  pen.fillRect(x - 8, Math.min(one, other), 16, Math.abs(one - other));
  pen.globalAlpha = 1;
  pen.strokeRect(x - 8, Math.min(one, other), 16, Math.abs(one - other));
}

// The picture of candidates over parallel axes: where values are, the lines, the axes with what is brushed on them.
// @ts-check
import { Scale, colours, fit, nearestMark } from "./canvas-chart.js";
import { islandColour } from "./palette.js";

export const HEIGHT = 330;
const PAD = { side: 58, top: 40, bottom: 20 };
const LINE_REACH = 8;
const MAX_LINES = 4000; // of those off the front; more are a surface, not lines
const MAX_WIDE = 200; // of those on the front; more wide ones hide each other, and take long to draw

/** An axis of scores. `flipped`: smaller is up. */
export class Axis extends Scale {
  /** @param {string} name @param {boolean} minimised @param {(at: number) => number} score */
  constructor(name, minimised, score) {
    super(0, 1, { flipped: minimised });
    this.name = name;
    this.minimised = minimised;
    this.score = score;
    /** @type {[number, number] | null} */
    this.brush = null;
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
 * The candidate whose line is nearest to a point between axes, within reach; -1: none is.
 * @param {Axis[]} axes @param {number[]} order of candidates, those that are meant first among equals
 * @param {number} x @param {number} y @param {number} width
 */
export function nearestLine(axes, order, x, y, width) {
  const places = axes.map((_, which) => across(which, axes.length, width));
  const right = places.findIndex((place) => place >= x);
  if (right < 1) return -1;
  const [from, to] = [axes[right - 1], axes[right]];
  const part = (x - places[right - 1]) / (places[right] - places[right - 1]);
  const place = (/** @type {number} */ at) => {
    const [begin, end] = [from, to].map((axis) => up(axis.share(axis.score(at))));
    return [x, begin + part * (end - begin)];
  };
  return nearestMark(order, place, x, y, LINE_REACH);
}

/**
 * @param {CanvasRenderingContext2D} pen @param {number} width @param {Axis[]} axes
 * @param {{places: number[], kept: Set<number>, front: Set<number>, islands: number[], inspected: number}} shown
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
    front.length > MAX_WIDE ? 1 : 2,
  );
  draw(
    shown.places.filter((at) => at === shown.inspected),
    () => tone.accent,
    1,
    4,
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
  for (const { at: y, text: words } of axis.ticks(4, up(0), up(1))) {
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

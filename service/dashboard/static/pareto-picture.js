// The picture of two objectives against each other: axes in scores, marks, front, ray of weights, reference point.
// @ts-check
import { Scale, colours, drawAcross, drawUp } from "./canvas-chart.js";
import { floorOf, scoreOf, titled, valid } from "./objectives.js";
import { islandColour, islandShape, mark } from "./palette.js";
import { Stamps } from "./stamps.js";

export const HEIGHT = 420;
const PAD = { left: 64, right: 16, top: 14, bottom: 46 };
const REFERENCE_ROOM = 1.6; // the reference point is drawn unless it makes the picture so many times as wide

/** @typedef {import("./objectives.js").Objective} Objective */
/** @typedef {import("./columns.js").Columns} Columns */

/** @param {(number | null)[]} column @param {number[]} places @returns {[number, number]} */
function range(column, places) {
  let low = Infinity;
  let high = -Infinity;
  for (const at of places) {
    const value = /** @type {number} */ (column[at]);
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

export class Picture {
  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {number} width
   * @param {Columns} columns
   * @param {Objective[]} axes across and up
   * @param {number[]} which of the rewards they are @param {number[]} order places of all valid evaluations
   */
  constructor(pen, width, columns, axes, which, order) {
    this.pen = pen;
    this.width = width;
    this.columns = columns;
    this.axes = axes;
    this.rewards = which.map((one) => /** @type {number[]} */ (columns.rewards[one]));
    this.tone = colours("ink", "accent", "bad");
    this.seen = this.rewards.map((column) => range(column, order));
    this.floors = axes.map(floorOf);
    this.frame = {
      left: PAD.left,
      right: width - PAD.right,
      top: PAD.top,
      foot: HEIGHT - PAD.bottom,
      width,
      height: HEIGHT,
    };
    this.spans = this.seen.map(([low, high], side) => {
      const floor = this.floors[side];
      const least = floor !== null && floor < low && high - floor <= REFERENCE_ROOM * (high - low) ? floor : low;
      const edge = 0.05 * (high - least) || 0.05 * Math.abs(high) || 1;
      return [least - edge, high + edge];
    });
    this.scales = this.spans.map(([low, high]) => new Scale(low, high));
  }

  /** @param {number} reward */
  across(reward) {
    return this.scales[0].at(reward, this.frame.left, this.frame.right);
  }

  /** @param {number} reward */
  up(reward) {
    return this.scales[1].at(reward, this.frame.foot, this.frame.top);
  }

  /** @param {number} at */
  place(at) {
    return [this.across(this.rewards[0][at]), this.up(this.rewards[1][at])];
  }

  /** Whether the reference point lies within the picture. */
  get referenced() {
    return this.floors.every(
      (floor, side) => floor !== null && floor >= this.spans[side][0] && floor <= this.spans[side][1],
    );
  }

  /** @param {{count: number, front: Set<number>, steps: number[], weights: number[], winner: number}} shown */
  draw(shown) {
    const { left, right, top, foot } = this.frame;
    this.drawAxes();
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(left, top, right - left, foot - top);
    this.pen.clip();
    this.ray(shown.weights);
    this.stairs(shown.steps);
    this.marks(shown.count, shown.front);
    if (shown.winner >= 0 && this.columns.place[shown.winner] < shown.count)
      this.ring(shown.winner, 10.5, this.tone.bad, 2.5);
    if (this.referenced) this.cross();
    this.pen.restore();
  }

  /** Axes have round scores on them, and run the way in which rewards grow. */
  drawAxes() {
    const { left, right, top, foot } = this.frame;
    const ticks = this.axes.map((objective, side) => {
      const ends = this.spans[side].map((reward) => scoreOf(objective, reward));
      const scale = new Scale(Math.min(...ends), Math.max(...ends), { flipped: ends[0] > ends[1] });
      return side ? scale.ticks(5, foot, top) : scale.ticks(Math.max(2, Math.floor(this.width / 110)), left, right);
    });
    const [across, up] = this.axes.map((objective) => `${titled(objective)} →`);
    drawAcross(this.pen, this.frame, ticks[0], across);
    drawUp(this.pen, this.frame, ticks[1], up);
  }

  /** The way that weights pull: from the worst in both on. @param {number[]} weights */
  ray(weights) {
    const most = Math.max(...weights);
    const { pen } = this;
    if (!(most > 0)) return;
    const [from, to] = [0, 2].map((far) =>
      this.axes.map((objective, side) => {
        const [low, high] = objective.low === null ? this.seen[side] : [0, 1];
        return low + ((far * weights[side]) / most) * (high - low);
      }),
    );
    pen.strokeStyle = this.tone.bad;
    pen.lineWidth = 1.5;
    pen.setLineDash([7, 5]);
    pen.beginPath();
    pen.moveTo(this.across(from[0]), this.up(from[1]));
    pen.lineTo(this.across(to[0]), this.up(to[1]));
    pen.stroke();
    pen.setLineDash([]);
  }

  /** What the front of the two dominates lies below and to the left of this line. @param {number[]} steps */
  stairs(steps) {
    if (!steps.length) return;
    const { pen } = this;
    let level = HEIGHT;
    pen.strokeStyle = this.tone.accent;
    pen.lineWidth = 2;
    pen.beginPath();
    steps.forEach((at, step) => {
      const [x, y] = this.place(at);
      if (step) pen.lineTo(x, level);
      else pen.moveTo(x, level);
      pen.lineTo(x, y);
      level = y;
    });
    pen.lineTo(0, level);
    pen.stroke();
  }

  /** @param {number} count @param {Set<number>} front */
  marks(count, front) {
    const { pen, columns } = this;
    const hues = [...new Set(columns.island)].reduce((all, island) => all.set(island, islandColour(island)), new Map());
    const [small, large] = [2.4, 3.2].map((size) => new Stamps(size, 1.3));
    const each = (/** @type {number} */ at, /** @type {Stamps} */ stamps) => {
      const [x, y] = this.place(at);
      stamps.put(pen, islandShape(columns.island[at]), hues.get(columns.island[at]), x, y);
    };
    pen.globalAlpha = 0.45;
    for (let at = 0; at < columns.place.length && columns.place[at] < count; at += 1)
      if (!front.has(at) && valid(columns, at)) each(at, small);
    pen.globalAlpha = 1;
    for (const at of front) {
      each(at, large);
      this.ring(at, 6.5, this.tone.ink, 1);
    }
  }

  /** @param {number} at @param {number} size @param {string} stroke @param {number} wide */
  ring(at, size, stroke, wide) {
    const { pen } = this;
    const [x, y] = this.place(at);
    pen.strokeStyle = stroke;
    pen.lineWidth = wide;
    pen.beginPath();
    pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.stroke();
  }

  cross() {
    const [x, y] = /** @type {number[]} */ (this.floors);
    this.pen.strokeStyle = this.tone.ink;
    this.pen.lineWidth = 2;
    mark(this.pen, "cross", this.across(x), this.up(y), 5);
  }
}

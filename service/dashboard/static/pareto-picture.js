// The picture of two objectives against each other: axes in scores, marks, front, ray of weights, reference point.
// @ts-check
import { colours, fit, floorOf, rewardOf, scoreOf, titled, valid } from "./objectives.js";
import { tickTexts, ticks } from "./numbers.js";
import { islandColour, islandShape, mark } from "./palette.js";

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
    this.tone = colours("ink", "soft", "sunk", "accent", "bad");
    this.seen = this.rewards.map((column) => range(column, order));
    this.floors = axes.map(floorOf);
    this.spans = this.seen.map(([low, high], side) => {
      const floor = this.floors[side];
      const least = floor !== null && floor < low && high - floor <= REFERENCE_ROOM * (high - low) ? floor : low;
      const edge = 0.05 * (high - least) || 0.05 * Math.abs(high) || 1;
      return [least - edge, high + edge];
    });
  }

  /** @param {number} reward */
  across(reward) {
    const [low, high] = this.spans[0];
    return PAD.left + ((reward - low) / (high - low)) * (this.width - PAD.left - PAD.right);
  }

  /** @param {number} reward */
  up(reward) {
    const [low, high] = this.spans[1];
    return PAD.top + (1 - (reward - low) / (high - low)) * (HEIGHT - PAD.top - PAD.bottom);
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
    this.frame();
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(PAD.left, PAD.top, this.width - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom);
    this.pen.clip();
    this.ray(shown.weights);
    this.stairs(shown.steps);
    this.marks(shown.count, shown.front);
    if (shown.winner >= 0 && this.columns.place[shown.winner] < shown.count)
      this.ring(shown.winner, 10.5, this.tone.bad, 2.5);
    if (this.referenced) this.cross();
    this.pen.restore();
  }

  frame() {
    const { pen, width, tone } = this;
    const foot = HEIGHT - PAD.bottom;
    this.axes.forEach((objective, side) => {
      const ends = this.spans[side].map((reward) => scoreOf(objective, reward)).sort((a, b) => a - b);
      pen.strokeStyle = tone.sunk;
      pen.fillStyle = tone.soft;
      pen.textAlign = side ? "right" : "center";
      pen.textBaseline = side ? "middle" : "top";
      const scores = ticks(ends[0], ends[1], side ? 5 : Math.max(2, Math.floor(width / 110)));
      const texts = tickTexts(scores);
      for (const [which, score] of scores.entries()) {
        const at = side ? this.up(rewardOf(objective, score)) : this.across(rewardOf(objective, score));
        pen.beginPath();
        pen.moveTo(side ? PAD.left : at, side ? at : PAD.top);
        pen.lineTo(side ? width - PAD.right : at, side ? at : foot);
        pen.stroke();
        pen.fillText(texts[which], side ? PAD.left - 6 : at, side ? at : foot + 6);
      }
    });
    this.titles(foot);
  }

  /** @param {number} foot */
  titles(foot) {
    const { pen, width } = this;
    const [across, up] = this.axes.map((objective) => `${titled(objective)} →`);
    pen.fillStyle = this.tone.ink;
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    pen.fillText(fit(pen, across, width - PAD.left - PAD.right), (PAD.left + width - PAD.right) / 2, HEIGHT - 4);
    pen.save();
    pen.translate(13, (PAD.top + foot) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(fit(pen, up, foot - PAD.top), 0, 0);
    pen.restore();
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
    const each = (/** @type {number} */ at, /** @type {number} */ size) => {
      const [x, y] = this.place(at);
      pen.fillStyle = pen.strokeStyle = hues.get(columns.island[at]);
      mark(pen, islandShape(columns.island[at]), x, y, size);
    };
    pen.lineWidth = 1.3;
    pen.globalAlpha = 0.45;
    for (let at = 0; at < columns.place.length && columns.place[at] < count; at += 1)
      if (!front.has(at) && valid(columns, at)) each(at, 2.4);
    pen.globalAlpha = 1;
    for (const at of front) {
      each(at, 3.2);
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

// Marks of charts that are drawn once and copied: to draw thousands of shapes anew takes a browser ten times as long.
// @ts-check
import { mark } from "./palette.js";

const REACH = 1.3; // of the widest shape, in sizes

/** The marks of one picture, of one size. */
export class Stamps {
  /**
   * @param {number} size of a mark, from its middle
   * @param {number} line width of those that are lines
   * @param {number} ratio pixels of the canvas in a unit of the pen
   */
  constructor(size, line, ratio = devicePixelRatio || 1) {
    this.size = size;
    this.line = line;
    this.ratio = ratio;
    this.half = Math.ceil((REACH * size + line) * this.ratio) / this.ratio;
    /** @type {Map<string, HTMLCanvasElement>} */
    this.made = new Map();
  }

  /**
   * Puts a mark where it belongs, to the next pixel of the canvas.
   * @param {CanvasRenderingContext2D} pen
   * @param {string} shape @param {string} hue @param {number} x @param {number} y
   */
  put(pen, shape, hue, x, y) {
    const key = `${shape} ${hue}`;
    let stamp = this.made.get(key);
    if (!stamp) {
      stamp = this.make(shape, hue);
      this.made.set(key, stamp);
    }
    const { half, ratio } = this;
    const [left, top] = [x - half, y - half].map((place) => Math.round(place * ratio) / ratio);
    pen.drawImage(stamp, left, top, 2 * half, 2 * half);
  }

  /** @param {string} shape @param {string} hue */
  make(shape, hue) {
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    canvas.width = canvas.height = Math.round(2 * this.half * this.ratio);
    if (!pen) return canvas;
    pen.scale(this.ratio, this.ratio);
    pen.fillStyle = pen.strokeStyle = hue;
    pen.lineWidth = this.line;
    mark(pen, shape, this.half, this.half, this.size);
    return canvas;
  }
}

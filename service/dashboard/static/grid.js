// <cell-grid data-src data-slice data-since>: the fittest of each cell over two measures. The others are fixed, or the
// best over them counts.
// @ts-check
import { Scale, Tip, drawAcross, drawUp, fitted } from "./canvas-chart.js";
import { chartData } from "./chart-data.js";
import { nameOfId } from "./candidate-name.js";
import { inTurn } from "./frames.js";
import { inspect, inspected, onInspected } from "./inspect.js";
import { MarkWalk } from "./mark-walk.js";
import { number } from "./numbers.js";
import { colour, dark, onTheme, tint, tints } from "./palette.js";
import { CandidatePictures } from "./candidate-pictures.js";
import { Replay } from "./replay.js";
import { asScore, scoreWord } from "./score.js";

const PAD = { left: 70, right: 10, top: 8, bottom: 46 };
const MAX_HEIGHT = 460;
const MAX_SIDE = 64;
const MIN_SIDE = 4;
const MIN_PICTURE = 36; // side of a cell that has the room for one
const PAPER_EDGE = 5;
const WAIT_MILLISECONDS = 2000;
/** @typedef {{name: string, bins: number, low: number | null, high: number | null}} Axis */
/**
 * @typedef {object} Cell
 * @property {number[]} bins
 * @property {number[]} values
 * @property {string} candidate_id
 * @property {number} fitness
 * @property {number} candidates
 * @property {number} place
 * @property {string | null} view_type
 */
/** @typedef {{x: number, y: number | null, fixed: Record<string, number>}} Slice */

/** The fittest of each cell of the picture; cells come the fittest first. @param {Cell[]} cells @param {Slice} slice */
export function sliced(cells, slice) {
  /** @type {Map<string, Cell>} */
  const found = new Map();
  const fixed = Object.entries(slice.fixed).map(([axis, bin]) => [Number(axis), bin]);
  for (const cell of cells) {
    if (!fixed.every(([axis, bin]) => cell.bins[axis] === bin)) continue;
    const key = `${cell.bins[slice.x]},${slice.y === null ? 0 : cell.bins[slice.y]}`;
    if (!found.has(key)) found.set(key, cell);
  }
  return found;
}

/** @param {Axis} axis @param {number} bin where it begins */
function edge(axis, bin) {
  return axis.low === null || axis.high === null ? null : new Scale(axis.low, axis.high).value(bin / axis.bins);
}

/** Rows from the top, cells of a row from the left. @param {string} one @param {string} other */
function inReadingOrder(one, other) {
  const [[column, row], [otherColumn, otherRow]] = [one, other].map((key) => key.split(",").map(Number));
  return otherRow - row || column - otherColumn;
}

/** Every so many edges of the bins. @param {Axis} axis @param {number} every @param {(bin: number) => number} place */
function edges(axis, every, place) {
  const count = Math.floor(axis.bins / every) + 1;
  return Array.from({ length: count }, (_, one) => ({ at: place(one * every), text: number(edge(axis, one * every)) }));
}

class CellGrid extends HTMLElement {
  pictures = new CandidatePictures(() => this.later());
  axes = /** @type {Axis[]} */ ([]);

  connectedCallback() {
    this.slice = /** @type {Slice} */ (JSON.parse(this.dataset.slice ?? "{}"));
    this.since = Number(this.dataset.since);
    this.asked = 0;
    /** @type {string} */
    this.near = "";
    this.build();
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(this);
    onTheme(() => this.later());
    onInspected(() => this.later());
    document.addEventListener("evolve:news", () => {
      this.asked ||= window.setTimeout(() => void this.read(true), WAIT_MILLISECONDS);
    });
    void this.read(true);
  }

  disconnectedCallback() {
    this.resize?.disconnect();
  }

  build() {
    const plot = document.createElement("div");
    plot.className = "plot";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Grid of the fittest candidates, not drawn yet");
    this.tip = new Tip();
    this.scale = document.createElement("p");
    this.scale.className = "scale";
    plot.append(this.canvas, this.tip.element);
    this.append(plot, this.scale);
    this.replay = new Replay(this, {
      run: this.dataset.run ?? "",
      show: () => void this.read(),
      best: () => this.best ?? "",
      stops: () => [],
    });
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      this.near = "";
      this.tip?.hide();
    });
    this.canvas.addEventListener("click", () => this.open(this.near ?? "", false));
    new MarkWalk(plot, "Filled cells of the grid, row by row", {
      order: () => [...(this.cells?.keys() ?? [])].sort(inReadingOrder),
      first: () => this.cells?.keys().next().value,
      show: (key) => this.tell(key),
      open: (key) => this.open(key, true),
      leave: () => this.tip?.hide(),
    });
  }

  /**
   * Reads the grid of the moment that the slider is at. A slider that moves meanwhile has it read once more.
   * @param {boolean} [anew] whether the run may have more evaluations than the slider
   */
  async read(anew = false) {
    this.asked = 0;
    this.again = Boolean(this.busy);
    if (this.busy) return;
    this.busy = true;
    const { replay } = this;
    const all = replay?.atEnd || (anew && !replay?.total);
    const moment = all ? "" : `?until=${replay?.until}`;
    const grid = await chartData(this, `${this.dataset.src}${moment}`, () => void this.read(anew));
    this.busy = false;
    if (grid) this.take(grid, moment === "");
    if (this.again) await this.read();
  }

  /** @param {any} grid @param {boolean} whole */
  take(grid, whole) {
    const first = !this.replay?.total;
    if (whole) this.replay?.take(grid.evaluations);
    this.best = grid.cells.length ? nameOfId(grid.cells[0].candidate_id) : "";
    this.replay?.tell(`After ${number(grid.evaluations)} evaluations: ${number(grid.filled)} cells are filled.`);
    void this.replay?.depict();
    // The address names an earlier moment.
    if (first && this.replay && !this.replay.atEnd) void this.read();
    this.axes = /** @type {Axis[]} */ (grid.axes);
    this.cells = sliced(grid.cells, /** @type {Slice} */ (this.slice));
    const changed = document.querySelector("[data-changed]");
    if (changed instanceof HTMLElement && whole) changed.hidden = grid.filled === Number(changed.dataset.filled);
    this.later();
  }

  later() {
    inTurn(this, () => this.draw());
  }

  draw() {
    if (!this.cells || !this.canvas || !this.isConnected || !this.slice) return;
    const x = this.axes[this.slice.x];
    const y = this.slice.y === null ? null : this.axes[this.slice.y];
    const wide = Math.max(280, this.clientWidth || 600);
    const columns = x.bins;
    const rows = y ? y.bins : 1;
    const side = [(wide - PAD.left - PAD.right) / columns, (MAX_HEIGHT - PAD.top - PAD.bottom) / rows].map((most) =>
      Math.max(MIN_SIDE, Math.min(MAX_SIDE, most)),
    );
    if (!y) side[1] = MAX_SIDE;
    const { pen } = fitted(this.canvas, PAD.top + rows * side[1] + PAD.bottom);
    this.side = side;
    this.rows = rows;
    const worth = [...this.cells.values()].map((cell) => cell.fitness);
    this.low = worth.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = worth.reduce((a, b) => Math.max(a, b), -Infinity);
    pen.fillStyle = colour("raised");
    pen.fillRect(PAD.left, PAD.top, columns * side[0], rows * side[1]);
    for (const [key, cell] of this.cells) this.paint(pen, key, cell);
    this.lines(pen, columns, rows);
    this.name(pen, x, y);
    this.frameInspected(pen);
    this.explain();
    this.dataset.filled = String(this.cells.size);
  }

  /** Where a cell is. @param {string} key */
  corner(key) {
    const [column, row] = key.split(",").map(Number);
    const [wide, tall] = this.side ?? [1, 1];
    return [PAD.left + column * wide, PAD.top + ((this.rows ?? 1) - 1 - row) * tall];
  }

  /** @param {CanvasRenderingContext2D} pen @param {string} key @param {Cell} cell */
  paint(pen, key, cell) {
    const [x, y] = this.corner(key);
    const [wide, tall] = this.side ?? [1, 1];
    const span = (this.high ?? 0) - (this.low ?? 0);
    const share = span > 0 ? (cell.fitness - (this.low ?? 0)) / span : 1;
    const words = number(asScore(cell.fitness), 3);
    pen.fillStyle = tint(share);
    pen.fillRect(x, y, wide, tall);
    if (Math.min(wide, tall) >= MIN_PICTURE && this.depict(pen, cell, x, y)) return;
    pen.fillStyle = share < 0.45 === dark() ? "#ffffff" : "#06130e";
    if (cell.place >= (this.since ?? Infinity)) {
      pen.beginPath();
      pen.arc(x + wide - Math.min(7, wide / 3), y + Math.min(7, tall / 3), Math.min(3.5, wide / 4), 0, 2 * Math.PI);
      pen.fill();
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    if (tall >= 18 && pen.measureText(words).width < wide - 6) pen.fillText(words, x + wide / 2, y + tall / 2);
  }

  /**
   * Draws the picture of a cell's candidate on paper of its own, once it has come. The tint stays around it.
   * @param {CanvasRenderingContext2D} pen @param {Cell} cell @param {number} x @param {number} y
   */
  depict(pen, cell, x, y) {
    const [wide, tall] = this.side ?? [1, 1];
    const image = this.pictures.of(cell.candidate_id, cell.view_type);
    if (!image) return false;
    const [room, height] = [wide - 2 * PAPER_EDGE, tall - 2 * PAPER_EDGE];
    const size = Math.min(room / image.naturalWidth, height / image.naturalHeight);
    const [width, high] = [image.naturalWidth * size, image.naturalHeight * size];
    pen.fillStyle = "#ffffff";
    pen.fillRect(x + PAPER_EDGE, y + PAPER_EDGE, room, height);
    pen.drawImage(image, x + (wide - width) / 2, y + (tall - high) / 2, width, high);
    return true;
  }

  /** @param {CanvasRenderingContext2D} pen */
  frameInspected(pen) {
    const name = inspected();
    const [wide, tall] = this.side ?? [1, 1];
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 3;
    for (const [key, cell] of this.cells ?? [])
      if (name && nameOfId(cell.candidate_id) === name) {
        const [x, y] = this.corner(key);
        pen.strokeRect(x, y, wide, tall);
      }
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} columns @param {number} rows */
  lines(pen, columns, rows) {
    const [wide, tall] = this.side ?? [1, 1];
    const foot = PAD.top + rows * tall;
    pen.strokeStyle = colour("line");
    pen.lineWidth = Math.min(wide, tall) < 8 ? 0.3 : 1;
    pen.beginPath();
    for (let column = 0; column <= columns; column += 1) {
      pen.moveTo(PAD.left + column * wide, PAD.top);
      pen.lineTo(PAD.left + column * wide, foot);
    }
    for (let row = 0; row <= rows; row += 1) {
      pen.moveTo(PAD.left, PAD.top + row * tall);
      pen.lineTo(PAD.left + columns * wide, PAD.top + row * tall);
    }
    pen.stroke();
  }

  /** @param {CanvasRenderingContext2D} pen @param {Axis} x @param {Axis | null} y */
  name(pen, x, y) {
    const [wide, tall] = this.side ?? [1, 1];
    const rows = this.rows ?? 1;
    const foot = PAD.top + rows * tall;
    const width = Math.max(PAD.left + x.bins * wide + PAD.right, this.canvas?.clientWidth ?? 0);
    const frame = {
      left: PAD.left,
      right: PAD.left + x.bins * wide,
      top: PAD.top,
      foot,
      width,
      height: foot + PAD.bottom,
    };
    const columns = edges(x, Math.max(1, Math.ceil(54 / wide)), (bin) => frame.left + bin * wide);
    drawAcross(pen, frame, columns, x.name, { lines: false });
    if (!y) return;
    drawUp(
      pen,
      frame,
      edges(y, Math.max(1, Math.ceil(18 / tall)), (bin) => foot - bin * tall),
      y.name,
      { lines: false },
    );
  }

  explain() {
    this.scale?.replaceChildren(`${scoreWord()} ${number(asScore(this.low))}`, tints(), number(asScore(this.high)));
    this.canvas?.setAttribute(
      "aria-label",
      `${this.cells?.size} filled cells, with a ${scoreWord()} from ${number(asScore(this.low))} to ` +
        `${number(asScore(this.high))}. ` +
        "The table below lists them.",
    );
  }

  /** @param {MouseEvent} event */
  point(event) {
    const [wide, tall] = this.side ?? [1, 1];
    const column = Math.floor((event.offsetX - PAD.left) / wide);
    const row = (this.rows ?? 1) - 1 - Math.floor((event.offsetY - PAD.top) / tall);
    this.near = `${column},${row}`;
    if (this.canvas) this.canvas.style.cursor = this.cells?.has(this.near) ? "pointer" : "default";
    this.tell(this.near);
  }

  /** Has the tip tell of a cell. @param {string} key */
  tell(key) {
    const cell = this.cells?.get(key);
    const { tip, canvas } = this;
    tip?.hide();
    if (!cell || !tip || !canvas) return;
    const [wide, tall] = this.side ?? [1, 1];
    const [x, y] = this.corner(key);
    const values = this.axes.map((axis, which) => `${axis.name} ${number(cell.values[which])}`).join(", ");
    const history = `${number(cell.candidates)} fell into it, held since evaluation ${cell.place + 1}`;
    const words = `${values}: ${scoreWord()} ${number(asScore(cell.fitness))}; ${history}. Click to inspect.`;
    tip.show(words, x + wide / 2, y + tall / 2, canvas.clientWidth);
  }

  /** @param {string} key @param {boolean} keyboard */
  open(key, keyboard) {
    const cell = this.cells?.get(key);
    const { canvas } = this;
    if (!cell || !canvas) return;
    const x = canvas.getBoundingClientRect().left + this.corner(key)[0];
    inspect(this, nameOfId(cell.candidate_id), { origin: canvas.parentElement, keyboard, x });
  }
}

customElements.define("cell-grid", CellGrid);

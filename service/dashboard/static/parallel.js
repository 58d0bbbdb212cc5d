// <parallel-axes data-src data-run>: every objective and the fitness side by side; brushes on axes keep candidates.
// @ts-check
import { nameOf } from "./candidate-name.js";
import { storeOf } from "./columns.js";
import { chosen, keep } from "./address.js";
import { addressOf, fitted, frontOf, objectivesOfPage, scoreOf, valid } from "./objectives.js";
import { number } from "./numbers.js";
import { onTheme } from "./palette.js";
import { across, Axis, drawLines, HEIGHT, shareAt } from "./parallel-picture.js";

const REACH = 26;
const STILL = 4;
const LISTED = 20;

class ParallelAxes extends HTMLElement {
  axes = /** @type {Axis[]} */ ([]);

  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    this.frame = 0;
    /** @type {{axis: Axis, begin: number, moved: boolean} | null} */
    this.drag = null;
    this.axes = this.makeAxes();
    this.build();
    this.readAddress();
    this.store.addEventListener("change", () => this.take());
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(this);
    onTheme(() => this.later());
    if (this.store.columns) this.take();
  }

  disconnectedCallback() {
    this.resize?.disconnect();
  }

  makeAxes() {
    const reward = (/** @type {number} */ which, /** @type {number} */ at) =>
      /** @type {number} */ (this.store?.columns?.rewards[which][at]);
    const axes = objectivesOfPage().map(
      (objective, which) =>
        new Axis(objective.name, objective.direction === "minimize", (at) => scoreOf(objective, reward(which, at))),
    );
    return [...axes, new Axis("fitness", false, (at) => /** @type {number} */ (this.store?.columns?.fitness[at]))];
  }

  build() {
    const plot = document.createElement("div");
    const fields = document.createElement("div");
    plot.className = "plot";
    fields.className = "brushes";
    const canvas = document.createElement("canvas");
    this.canvas = canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Candidates over parallel axes, not drawn yet");
    plot.append(canvas);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => this.release());
    canvas.addEventListener("pointercancel", () => this.release());
    this.fields = this.axes.map((axis, which) => this.makeFields(axis, which));
    fields.append(...this.fields.map((one) => one.box));
    this.told = document.createElement("p");
    this.told.setAttribute("role", "status");
    this.table = document.createElement("div");
    this.table.className = "scroll";
    this.table.tabIndex = 0;
    this.table.setAttribute("role", "region");
    this.table.setAttribute("aria-label", "Candidates in the brushes");
    this.append(plot, fields, this.told, this.table);
  }

  /** @param {Axis} axis @param {number} which */
  makeFields(axis, which) {
    const box = document.createElement("fieldset");
    const legend = document.createElement("legend");
    const range = document.createElement("div");
    const ways = document.createElement("div");
    legend.textContent = legend.title = axis.name;
    range.className = "range";
    ways.className = "ways";
    const [low, high] = ["from", "to"].map((end) => {
      const field = document.createElement("input");
      field.type = "number";
      field.step = "any";
      field.setAttribute("aria-label", `${axis.name} ${end}`);
      field.addEventListener("change", () => this.fill(which));
      return field;
    });
    range.append(low, "to", high);
    const [flip, log] = ["flip", "log"].map((name) => {
      const box = document.createElement("input");
      const label = document.createElement("label");
      box.type = "checkbox";
      box.addEventListener("change", () => this.turn(which));
      label.append(box, ` ${name}`);
      ways.append(label);
      return box;
    });
    box.append(legend, range, ways);
    return { box, low, high, flip, log };
  }

  readAddress() {
    const flipped = chosen("flip").split("~");
    const logs = chosen("log").split("~");
    this.axes.forEach((axis, which) => {
      const ends = chosen(`b${which}`).split("~").map(Number);
      if (chosen(`b${which}`) && ends.length === 2 && ends.every(Number.isFinite))
        axis.brush = [Math.min(...ends), Math.max(...ends)];
      axis.flipped = axis.minimised !== flipped.includes(String(which));
      axis.log = logs.includes(String(which));
    });
  }

  writeAddress() {
    const axes = this.axes;
    const which = (/** @type {(axis: Axis) => boolean} */ is) =>
      axes.flatMap((axis, one) => (is(axis) ? [one] : [])).join("~");
    /** @type {Record<string, string>} */
    const choices = { flip: which((axis) => axis.flipped !== axis.minimised), log: which((axis) => axis.log) };
    axes.forEach((axis, one) => {
      choices[`b${one}`] = axis.brush ? axis.brush.map((value) => Number(value.toPrecision(6))).join("~") : "";
    });
    keep(choices);
  }

  /** Takes a range out of its fields; a field left empty is open. @param {number} which */
  fill(which) {
    const axis = this.axes[which];
    const { low, high } = (this.fields ?? [])[which];
    const ends = [low.value === "" ? axis.low : low.valueAsNumber, high.value === "" ? axis.high : high.valueAsNumber];
    axis.brush = low.value === "" && high.value === "" ? null : [Math.min(...ends), Math.max(...ends)];
    this.writeAddress();
    this.later();
  }

  /** @param {number} which */
  turn(which) {
    const axis = this.axes[which];
    const { flip, log } = (this.fields ?? [])[which];
    axis.flipped = axis.minimised !== flip.checked;
    axis.log = log.checked && axis.loggable;
    this.writeAddress();
    this.later();
  }

  /** @param {PointerEvent} event */
  press(event) {
    const axes = this.axes;
    const wide = this.canvas?.clientWidth ?? 0;
    const axis = axes.find((_, which) => Math.abs(across(which, axes.length, wide) - event.offsetX) < REACH);
    if (!axis || event.button) return;
    event.preventDefault();
    this.canvas?.setPointerCapture(event.pointerId);
    this.drag = { axis, begin: event.offsetY, moved: false };
  }

  /** @param {PointerEvent} event */
  move(event) {
    const axes = this.axes;
    const wide = this.canvas?.clientWidth ?? 0;
    if (this.canvas)
      this.canvas.style.cursor =
        this.drag || axes.some((_, which) => Math.abs(across(which, axes.length, wide) - event.offsetX) < REACH)
          ? "ns-resize"
          : "default";
    if (!this.drag) return;
    this.drag.moved ||= Math.abs(event.offsetY - this.drag.begin) >= STILL;
    if (!this.drag.moved) return;
    const ends = [this.drag.begin, event.offsetY].map((y) => this.drag?.axis.value(shareAt(y)) ?? 0);
    this.drag.axis.brush = [Math.min(...ends), Math.max(...ends)];
    this.later();
  }

  /** A drag leaves a brush, a mere click takes it away. */
  release() {
    if (!this.drag) return;
    if (!this.drag.moved) this.drag.axis.brush = null;
    this.drag = null;
    this.writeAddress();
    this.later();
  }

  take() {
    const columns = this.store?.columns;
    if (!columns) return;
    this.places = columns.place.map((_, at) => at).filter((at) => valid(columns, at));
    for (const axis of this.axes) axis.cover(this.places);
    this.later();
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const columns = this.store?.columns;
    const places = this.places;
    const axes = this.axes;
    if (!columns || !places?.length || !this.canvas || !this.isConnected) return;
    const brushed = axes.filter((axis) => axis.brush);
    const kept = new Set(places.filter((at) => brushed.every((axis) => axis.keeps(at))));
    const { pen, width } = fitted(this.canvas, HEIGHT);
    drawLines(pen, width, axes, {
      places,
      kept,
      front: new Set(frontOf(columns, columns.total)),
      islands: columns.island,
    });
    for (const [which, axis] of axes.entries()) this.showFields(axis, which);
    this.dataset.kept = String(kept.size);
    const drawn = columns.sampled ? `drawn of ${number(columns.total)} candidates` : "valid candidates";
    const brushes = brushed.length === 1 ? "the brush" : "all brushes";
    const words = brushed.length
      ? `${number(kept.size)} of ${number(places.length)} ${drawn} lie in ${brushes}.`
      : `${columns.sampled ? "" : "All "}${number(places.length)} ${drawn}. No range is selected.`;
    if (this.told && this.told.textContent !== words) this.told.textContent = words;
    this.canvas.setAttribute("aria-label", `${axes.map((axis) => axis.name).join(", ")} side by side. ${words}`);
    if (!this.drag) this.list(columns, brushed.length ? [...kept] : []);
  }

  /** @param {Axis} axis @param {number} which */
  showFields(axis, which) {
    const { low, high, flip, log } = (this.fields ?? [])[which];
    const ends = axis.brush ? axis.brush.map((value) => String(Number(value.toPrecision(6)))) : ["", ""];
    [low, high].forEach((field, end) => {
      field.placeholder = number([axis.low, axis.high][end]);
      if (document.activeElement !== field) field.value = ends[end];
    });
    flip.checked = axis.flipped !== axis.minimised;
    log.checked = axis.log;
    log.disabled = !axis.loggable;
    log.title = axis.loggable ? "" : "Some values are 0 or below, which have no logarithm";
  }

  /** @param {import("./columns.js").Columns} columns @param {number[]} kept */
  list(columns, kept) {
    const axes = this.axes;
    const fittest = axes[axes.length - 1];
    const shown = kept.sort((one, other) => fittest.score(other) - fittest.score(one) || one - other).slice(0, LISTED);
    if (!this.table) return;
    this.table.hidden = !shown.length;
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    table.createCaption().textContent =
      kept.length > LISTED
        ? `The ${LISTED} fittest of ${kept.length} candidates in the brushes`
        : "Candidates in the brushes, the fittest first";
    for (const name of ["Candidate", ...axes.map((axis) => axis.name), "Island"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      if (name !== "Candidate") cell.className = "num";
      head.append(cell);
    }
    for (const at of shown) {
      const row = body.insertRow();
      const link = document.createElement("a");
      link.href = addressOf(this.dataset.run ?? "", columns, at);
      link.textContent = nameOf(columns, at);
      row.insertCell().append(link);
      for (const value of [...axes.map((axis) => number(axis.score(at))), String(columns.island[at])]) {
        const cell = row.insertCell();
        cell.className = "num";
        cell.textContent = value;
      }
    }
    this.table.replaceChildren(table);
  }
}

customElements.define("parallel-axes", ParallelAxes);

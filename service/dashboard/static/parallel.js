// <parallel-axes data-src data-run>: every objective and the fitness side by side; brushes on axes keep candidates.
// @ts-check
import { nameOf, placeOf } from "./candidate-name.js";
import { inspect, inspected, onInspected } from "./inspect.js";
import { MarkWalk } from "./mark-walk.js";
import { storeOf } from "./columns.js";
import { chosen, keep } from "./address.js";
import { Drag, Tip, fitted } from "./canvas-chart.js";
import { inTurn } from "./frames.js";
import { addressOf, frontOf, objectivesOfPage, scoreOf, valid } from "./objectives.js";
import { number } from "./numbers.js";
import { onTheme } from "./palette.js";
import { across, Axis, drawLines, HEIGHT, nearestLine, shareAt, up } from "./parallel-picture.js";

const REACH = 26;
const LISTED = 20;

class ParallelAxes extends HTMLElement {
  axes = /** @type {Axis[]} */ ([]);

  connectedCallback() {
    this.store = storeOf(this.dataset.src ?? "");
    /** @type {Axis | null} */
    this.brushed = null;
    this.axes = this.makeAxes();
    this.build();
    this.readAddress();
    this.store.addEventListener("change", () => this.take());
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(this);
    onTheme(() => this.later());
    onInspected(() => this.later());
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
    this.tip = new Tip();
    plot.append(canvas, this.tip.element);
    const actions = {
      press: (/** @type {PointerEvent} */ event) => this.press(event),
      drag: (/** @type {PointerEvent} */ event, /** @type {PointerEvent} */ from) => this.brush(event, from),
      drop: () => this.release(),
      click: (/** @type {PointerEvent} */ event) => {
        if (this.brushed) this.clear();
        else this.open(this.lineAt(event), event.clientX);
      },
      hover: (/** @type {PointerEvent} */ event) => this.hover(event),
      leave: () => this.tip?.hide(),
    };
    new MarkWalk(plot, "Lines of the fittest candidates", {
      order: () => this.listed ?? [],
      show: (at) =>
        this.tell(at, across(0, this.axes.length, canvas.clientWidth), up(this.axes[0].share(this.axes[0].score(at)))),
      open: (at) => this.open(at, null),
      leave: () => this.tip?.hide(),
    });
    new Drag(canvas, actions, true);
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

  /** The axis at the pointer. @param {PointerEvent} event */
  axisAt(event) {
    const wide = this.canvas?.clientWidth ?? 0;
    return this.axes.find((_, which) => Math.abs(across(which, this.axes.length, wide) - event.offsetX) < REACH);
  }

  /** @param {PointerEvent} event */
  press(event) {
    this.brushed = this.axisAt(event) ?? null;
    if (this.brushed) event.preventDefault();
    return true;
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const axis = this.axisAt(event);
    const at = axis ? -1 : this.lineAt(event);
    if (this.canvas) this.canvas.style.cursor = axis ? "ns-resize" : at < 0 ? "default" : "pointer";
    if (at < 0) this.tip?.hide();
    else this.tell(at, event.offsetX, event.offsetY);
  }

  /** The candidate whose line passes the pointer; -1: none does. @param {PointerEvent} event */
  lineAt(event) {
    const { kept, front, canvas } = this;
    if (!kept || !front || !canvas) return -1;
    const order = [...front].filter((at) => kept.has(at)).concat([...kept].filter((at) => !front.has(at)));
    return nearestLine(this.axes, order, event.offsetX, event.offsetY, canvas.clientWidth);
  }

  /** @param {number} at @param {number} x @param {number} y */
  tell(at, x, y) {
    const columns = this.store?.columns;
    if (!columns) return;
    const scores = this.axes.map((axis) => `${axis.name} ${number(axis.score(at))}`).join(", ");
    const words = `${nameOf(columns, at)}, island ${columns.island[at]}: ${scores}. Click to inspect.`;
    this.tip?.show(words, x, y, this.canvas?.clientWidth ?? 0);
  }

  /** @param {number} at @param {number | null} x of the click; null: it was a key */
  open(at, x) {
    const columns = this.store?.columns;
    if (!columns || at < 0) return;
    inspect(this, nameOf(columns, at), { origin: this.canvas?.parentElement, keyboard: x === null, x });
  }

  /** @param {PointerEvent} event @param {PointerEvent} from */
  brush(event, from) {
    const axis = this.brushed;
    if (!axis) return;
    const ends = [from, event].map((one) => axis.value(shareAt(one.offsetY)));
    axis.brush = [Math.min(...ends), Math.max(...ends)];
    this.later();
  }

  /** A drag leaves a brush, a mere click takes it away. */
  clear() {
    if (this.brushed) this.brushed.brush = null;
    this.release();
  }

  release() {
    this.brushed = null;
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
    inTurn(this, () => this.draw());
  }

  draw() {
    const columns = this.store?.columns;
    const places = this.places;
    const axes = this.axes;
    if (!columns || !places?.length || !this.canvas || !this.isConnected) return;
    const brushed = axes.filter((axis) => axis.brush);
    const kept = new Set(places.filter((at) => brushed.every((axis) => axis.keeps(at))));
    const { pen, width } = fitted(this.canvas, HEIGHT);
    const front = new Set(frontOf(columns, columns.total));
    const inspectedAt = placeOf(columns, inspected());
    drawLines(pen, width, axes, { places, kept, front, islands: columns.island, inspected: inspectedAt });
    this.kept = kept;
    this.front = front;
    const fittest = axes[axes.length - 1];
    this.listed = [...(brushed.length ? kept : front)]
      .sort((one, other) => fittest.score(other) - fittest.score(one) || one - other)
      .slice(0, LISTED);
    for (const [which, axis] of axes.entries()) this.showFields(axis, which);
    this.dataset.kept = String(kept.size);
    const drawn = columns.sampled ? `drawn of ${number(columns.total)} candidates` : "valid candidates";
    const brushes = brushed.length === 1 ? "the brush" : "all brushes";
    const words = brushed.length
      ? `${number(kept.size)} of ${number(places.length)} ${drawn} lie in ${brushes}.`
      : `${columns.sampled ? "" : "All "}${number(places.length)} ${drawn}. No range is selected.`;
    if (this.told && this.told.textContent !== words) this.told.textContent = words;
    this.canvas.setAttribute("aria-label", `${axes.map((axis) => axis.name).join(", ")} side by side. ${words}`);
    if (!this.brushed) this.list(columns, brushed.length ? this.listed : [], kept.size);
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

  /** @param {import("./columns.js").Columns} columns @param {number[]} shown @param {number} count in the brushes */
  list(columns, shown, count) {
    const axes = this.axes;
    if (!this.table) return;
    this.table.hidden = !shown.length;
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    table.createCaption().textContent =
      count > LISTED
        ? `The ${LISTED} fittest of ${count} candidates in the brushes`
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

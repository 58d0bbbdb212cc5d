// Brushes on the parallel axes of a batch: a drag along an axis, or the fields below, select the runs whose lines pass
// there. The others fade, and their rows leave the table. The address keeps the brushes, by the names of the axes.
// @ts-check
import { chosen, keep } from "./address.js";
import { Drag } from "./canvas-chart.js";

const REACH = 16; // of an axis, in units of the picture
const EDGE = 7; // so far a brush reaches beyond the values that it holds
const SPACE = "http://www.w3.org/2000/svg";

/** @typedef {{run: string, ys: number[], values: string[]}} RunLine places on the axes, and what stands there */
/** @typedef {[number, number]} Range the upper and the lower end of a brush in the picture, from the top */

/** The runs that pass through all brushes. @param {RunLine[]} lines @param {(Range | null)[]} brushes */
export function brushed(lines, brushes) {
  return lines.filter((line) =>
    brushes.every((range, at) => !range || (line.ys[at] >= range[0] && line.ys[at] <= range[1])),
  );
}

/**
 * The values on an axis with their places, from the foot up, none twice.
 * @param {RunLine[]} lines
 * @param {number} at
 */
export function valuesOn(lines, at) {
  const found = new Map(lines.map((line) => [line.values[at], line.ys[at]]));
  return [...found].sort((one, other) => other[1] - one[1]);
}

/**
 * The values at the ends of a brush: the lowest and the highest on the axis that lie in it; null: none does.
 * @param {RunLine[]} lines @param {number} at @param {Range} range
 * @returns {[string, string] | null}
 */
export function endsOf(lines, at, range) {
  const inside = valuesOn(lines, at).filter(([, y]) => y >= range[0] && y <= range[1]);
  return inside.length ? [inside[0][0], inside[inside.length - 1][0]] : null;
}

/**
 * The brush between two values; null: neither is on the axis. One that is not stands for the end of the axis.
 * @param {RunLine[]} lines @param {number} at @param {[string, string]} ends
 * @returns {Range | null}
 */
export function rangeOf(lines, at, ends) {
  const places = new Map(valuesOn(lines, at));
  const [low, high] = ends.map((end) => places.get(end));
  if (low === undefined && high === undefined) return null;
  const every = [...places.values()];
  const [foot, top] = [low ?? Math.max(...every), high ?? Math.min(...every)];
  return [Math.min(foot, top) - EDGE, Math.max(foot, top) + EDGE];
}

/** Ends as they stand in an address. @param {[string, string] | null} ends */
export function written(ends) {
  return ends ? ends.map((end) => encodeURIComponent(end).replaceAll("~", "%7E")).join("~") : "";
}

/** @param {string} text @returns {[string, string] | null} */
export function read(text) {
  const ends = text.split("~");
  if (ends.length !== 2) return null;
  try {
    return /** @type {[string, string]} */ (ends.map(decodeURIComponent));
  } catch {
    return null; // an address that somebody cut
  }
}

class BatchBrush {
  /** By the name of an axis. @type {Map<string, [string, string] | null>} */
  ends = new Map();
  /** @type {RunLine[]} */
  lines = [];
  /** @type {{name: string, x: number}[]} */
  axes = [];
  /** @type {Element[]} */
  links = [];
  held = -1;

  /** Takes the picture that the page has now: a page that is live has another one every few seconds. */
  take() {
    const picture = document.querySelector("svg.parallel");
    this.picture = picture instanceof SVGSVGElement ? picture : null;
    if (!this.picture) return;
    this.links = [...this.picture.querySelectorAll("a[data-run]")];
    this.lines = this.links.map((link) => JSON.parse(link.getAttribute("data-line") ?? "{}"));
    this.axes = [...this.picture.querySelectorAll("line[data-axis]")].map((line) => ({
      name: line.getAttribute("data-axis") ?? "",
      x: Number(line.getAttribute("x1")),
    }));
    for (const { name } of this.axes) if (!this.ends.has(name)) this.ends.set(name, read(chosen(`brush.${name}`)));
    if (!this.picture.dataset.brushed) this.listen(this.picture);
    this.fill();
    this.show();
  }

  /** @param {SVGSVGElement} picture */
  listen(picture) {
    picture.dataset.brushed = "true";
    picture.addEventListener("dragstart", (event) => event.preventDefault());
    new Drag(
      /** @type {any} */ (picture),
      {
        press: (event) => {
          const { x } = this.point(event.clientX, event.clientY);
          this.held = this.axes.findIndex((axis) => Math.abs(axis.x - x) <= REACH);
          return this.held >= 0;
        },
        drag: (event, from) => {
          const ys = [from, event].map((one) => this.point(one.clientX, one.clientY).y);
          this.brush(this.held, endsOf(this.lines, this.held, [Math.min(...ys), Math.max(...ys)]));
        },
        click: () => this.brush(this.held, null),
      },
      true,
    );
  }

  /** A place of the window in the units of the picture. @param {number} x @param {number} y */
  point(x, y) {
    return new DOMPoint(x, y).matrixTransform(this.picture?.getScreenCTM()?.inverse());
  }

  /** @param {number} at @param {[string, string] | null} ends */
  brush(at, ends) {
    const axis = this.axes[at];
    if (!axis) return;
    this.ends.set(axis.name, ends);
    keep({ [`brush.${axis.name}`]: written(ends) });
    this.fill();
    this.show();
  }

  /** Fades the runs that are not selected, and takes their rows out of the table. */
  show() {
    const lines = this.lines;
    const ranges = this.axes.map(({ name }, at) => {
      const ends = this.ends.get(name);
      return ends ? rangeOf(lines, at, ends) : null;
    });
    const some = ranges.some((range) => range);
    const kept = new Set(brushed(lines, ranges).map((line) => line.run));
    for (const link of this.links)
      link.classList.toggle("faded", some && !kept.has(link.getAttribute("data-run") ?? ""));
    for (const row of document.querySelectorAll("tr[data-run]"))
      if (row instanceof HTMLElement) row.hidden = some && !kept.has(row.dataset.run ?? "");
    this.draw(ranges);
    const told = document.querySelector("#batch-brushes [role=status]");
    const words = some ? `${kept.size} of ${lines.length} runs with a result are selected.` : "No runs are selected.";
    if (told && told.textContent !== words) told.textContent = words;
  }

  /** @param {(Range | null)[]} ranges */
  draw(ranges) {
    for (const old of this.picture?.querySelectorAll("rect.brush") ?? []) old.remove();
    for (const [at, range] of ranges.entries()) {
      if (!range) continue;
      const box = document.createElementNS(SPACE, "rect");
      const x = this.axes[at].x - 8;
      const sides = { x, y: range[0], width: 16, height: range[1] - range[0], class: "brush" };
      for (const [name, value] of Object.entries(sides)) box.setAttribute(name, String(value));
      this.picture?.append(box);
    }
  }

  /** The fields below the picture: from and to for each axis, so that a keyboard brushes as well. */
  fill() {
    const place = document.getElementById("batch-brushes");
    if (!place) return;
    if (!place.childElementCount) {
      const told = document.createElement("p");
      told.setAttribute("role", "status");
      place.append(told);
    }
    for (const [at, axis] of this.axes.entries()) {
      const fields = /** @type {HTMLElement} */ (place.querySelectorAll("fieldset")[at] ?? this.field(place, at));
      const values = valuesOn(this.lines, at).map(([value]) => value);
      const ends = this.ends.get(axis.name) ?? ["", ""];
      const legend = /** @type {HTMLElement} */ (fields.querySelector("legend"));
      legend.textContent = legend.title = axis.name;
      for (const [end, select] of [...fields.querySelectorAll("select")].entries()) {
        select.setAttribute("aria-label", `${axis.name} ${end ? "to" : "from"}`);
        const held = [...select.options].map((option) => option.value);
        if (held.join("\n") !== ["", ...values].join("\n"))
          select.replaceChildren(
            new Option("any", ""),
            ...values.map((value) => new Option(value.slice(0, 60), value)),
          );
        select.value = ends[end];
        if (select.selectedIndex < 0) select.selectedIndex = 0;
      }
    }
  }

  /** @param {HTMLElement} place @param {number} at */
  field(place, at) {
    const fields = document.createElement("fieldset");
    const range = document.createElement("div");
    range.className = "range";
    fields.append(document.createElement("legend"), range);
    for (const word of ["", "to"]) {
      const select = document.createElement("select");
      select.addEventListener("change", () => this.choose(fields, at));
      range.append(word, select);
    }
    place.insertBefore(fields, place.querySelector("[role=status]"));
    return fields;
  }

  /** @param {HTMLElement} fields @param {number} at */
  choose(fields, at) {
    const [low, high] = [...fields.querySelectorAll("select")].map((select) => select.value);
    this.brush(at, low || high ? [low, high] : null);
  }
}

if (typeof document !== "undefined") {
  const brush = new BatchBrush();
  document.addEventListener("htmx:after:swap", () => brush.take());
  brush.take();
}

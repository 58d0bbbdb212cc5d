// Elements around the map of a run: its layers, its buttons and its legend.
// @ts-check
import { FAILURE, colour, entry, islandColour, islandShape } from "./palette.js";

const NAMED = 12;
const BUTTONS = /** @type {const} */ ([
  ["◂", "Move left", "ArrowLeft"],
  ["▸", "Move right", "ArrowRight"],
  ["+", "Zoom in", "+"],
  ["−", "Zoom out", "-"],
  ["Whole run", "", "0"],
  ["Parent", "Choose the parent", "ArrowUp"],
  ["Best child", "Choose the best child", "ArrowDown"],
  ["Choose none", "", "Escape"],
]);
const KEYS = [
  "Map of all candidates. Arrow keys left and right move, plus and minus zoom, 0 shows all, up chooses the parent,",
  "down the best child, Enter inspects the chosen candidate, Escape chooses none. The table below shows the lineage of",
  "the chosen candidate.",
];

/** The element that layers are drawn in, which takes the keys. */
export function makeMap() {
  const map = made("div", "map");
  map.tabIndex = 0;
  map.setAttribute("role", "application");
  map.setAttribute("aria-label", KEYS.join(" "));
  return map;
}

/** A canvas for each layer, the lowest first. @param {HTMLElement} map */
export function makeLayers(map) {
  return ["ground", "marks", "lines"].map((name) => {
    const canvas = document.createElement("canvas");
    canvas.dataset.layer = name;
    map.append(canvas);
    return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: name === "marks" }));
  });
}

/** A row of buttons, each for a key of the map. @param {(key: string) => void} press */
export function makeButtons(press) {
  const bar = made("div", "row");
  for (const [words, title, key] of BUTTONS) {
    const button = made("button", "", words);
    if (title) {
      button.title = title;
      button.setAttribute("aria-label", title);
    }
    button.addEventListener("click", () => press(key));
    bar.append(button);
  }
  return bar;
}

/**
 * Entries of the legend.
 * @param {import("./lineage-model.js").Model} model
 * @param {boolean} stacked whether each island has a lane
 */
export function makeLegend(model, stacked) {
  const islands = Array.from({ length: Math.min(NAMED, model.islands) }, (_, island) =>
    entry(islandShape(island), islandColour(island), `island ${island}`),
  );
  const moves = [
    made("li", "", stacked ? "⌒ migration, its dot where it went" : "╷ migration"),
    made("li", "", "↺ island reset"),
  ];
  return [...islands, entry(FAILURE, colour("bad"), "failed"), ...(model.moves.length ? moves : [])];
}

/**
 * Has the table show the line of a candidate.
 * @param {string | undefined} run
 * @param {string | undefined} at
 */
export function fetchLine(run, at) {
  const address = `/runs/${run}/lineage/line?at=${at}`;
  void globalThis.htmx?.ajax("GET", address, { source: "#line", target: "#line", swap: "outerHTML" });
}

/** @param {string} name @param {string} kind @param {string} words */
export function made(name, kind, words = "") {
  const element = document.createElement(name);
  element.className = kind;
  element.textContent = words;
  return element;
}

/** Where a candidate comes from. @param {import("./columns.js").Columns} columns @param {number} at */
export function originOf(columns, at) {
  return `island ${columns.island[at]}, ${columns.operators[columns.operator[at]]}`;
}

/** @param {string | undefined} run @param {string} name of a candidate */
export function makeLink(run, name) {
  const link = document.createElement("a");
  link.textContent = `candidate ${name}`;
  link.href = `/runs/${run}/candidates/${name}`;
  return link;
}

// What a chart does with a mark that somebody chose: the page's inspector shows it in place, and where there is none,
// such as in a report, the address of the candidate is opened.
// @ts-check

/**
 * @typedef {object} Inspection
 * @property {string} run
 * @property {string} name of the candidate in its run
 * @property {HTMLElement} origin where the keyboard goes back to
 * @property {boolean} keyboard whether it was chosen by a key
 * @property {number | null} share where the mark is across the window, from 0 to 1; the panel keeps off it
 */

/**
 * Shows a candidate.
 * @param {HTMLElement} chart
 * @param {string} name
 * @param {{origin?: HTMLElement | null, keyboard?: boolean, x?: number | null}} [choices] x: of the mark, in the window
 */
export function inspect(chart, name, { origin = null, keyboard = false, x = null } = {}) {
  const run = chart.dataset.run ?? "";
  /** @type {Inspection} */
  const detail = { run, name, origin: origin ?? chart, keyboard, share: x === null ? null : x / window.innerWidth };
  const asked = new CustomEvent("evolve:inspect", { bubbles: true, cancelable: true, detail });
  if (chart.dispatchEvent(asked)) location.assign(`/runs/${run}/candidates/${name}`);
}

/** The name of the candidate that the inspector shows; empty: it is closed. */
export function inspected() {
  const panel = document.querySelector("candidate-inspector[open]");
  return panel instanceof HTMLElement ? (panel.dataset.name ?? "") : "";
}

/** Calls back whenever another candidate is inspected, or none is any more. @param {() => void} redraw */
export function onInspected(redraw) {
  document.addEventListener("evolve:inspected", redraw);
}

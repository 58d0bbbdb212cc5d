// The lines of the token curve, and where they lead by the end of the budget.
// @ts-check
import { colour, islandColour } from "./palette.js";

export const SERIES = /** @type {const} */ ([
  ["tokens_input", "read", []],
  ["tokens_cached", "from a cache", [2, 4]],
  ["tokens_output", "written", [8, 4]],
]);

/**
 * Low, middle and high of each line.
 * @typedef {{end: number, tokens_input?: number[], tokens_output?: number[]}} Ahead
 */
/** @typedef {{evaluations: number, tokens_input: number, tokens_cached: number, tokens_output: number}} Point */

/** Lines that are forecast, with the place of their colour. */
export const AHEAD = /** @type {const} */ ([
  ["tokens_input", 0],
  ["tokens_output", 2],
]);

/** What the page says of the end of the budget. @returns {Ahead | null} */
export function forecastOfPage() {
  const found = document.querySelector("[data-forecast]");
  const text = found instanceof HTMLElement ? found.dataset.forecast : "";
  return text ? JSON.parse(text) : null;
}

/**
 * The lines until now, and for each that is forecast its low, middle and high until the end of the budget.
 * @param {Point[]} points @param {Ahead | null} ahead
 * @returns {uPlot.AlignedData}
 */
export function forecastData(points, ahead) {
  const xs = points.map((point) => point.evaluations);
  const lines = SERIES.map(([name]) => points.map((point) => point[name]));
  if (!ahead) return [xs, ...lines];
  const now = points[points.length - 1];
  const gap = points.slice(1).map(() => null);
  return [
    [...xs, ahead.end],
    ...lines.map((line) => [...line, null]),
    ...AHEAD.flatMap(([name]) => (ahead[name] ?? [null, null, null]).map((then) => [...gap, now[name], then])),
  ];
}

/** Low, middle and high of each line: the middle alone is drawn. @returns {uPlot.Series[]} */
export function aheadSeries() {
  return AHEAD.flatMap(([, hue]) =>
    [0, 1.5, 0].map((width) => ({
      stroke: width ? islandColour(hue) : "transparent",
      width,
      dash: [2, 3],
      points: { show: false },
    })),
  );
}

/** Between low and high. @param {number} low place of the series @returns {uPlot.Band} */
export function band(low) {
  return { series: [low + 2, low], fill: colour("sunk") };
}

// The best and the mean of an island over the evaluations, as many points as a small chart shows.
// @ts-check

const WINDOW = 20; // valid candidates that a mean is taken over
const MAX_POINTS = 600;

/** @typedef {{xs: number[], best: (number | null)[], mean: (number | null)[]}} Curves */

/**
 * What the candidates born on an island came to.
 * @param {import("./columns.js").Columns} columns
 * @param {number} island
 * @returns {Curves}
 */
export function curvesOf(columns, island) {
  /** @type {number[]} */ const xs = [];
  /** @type {(number | null)[]} */ const best = [];
  /** @type {(number | null)[]} */ const mean = [];
  /** @type {number[]} */ const last = [];
  let top = -Infinity;
  let sum = 0;
  for (let at = 0; at < columns.place.length; at += 1) {
    if (columns.island[at] !== island) continue;
    const value = columns.fitness[at];
    if (value !== null) {
      top = Math.max(top, value);
      sum += value;
      last.push(value);
      if (last.length > WINDOW) sum -= last[last.length - WINDOW - 1];
    }
    xs.push(columns.place[at] + 1);
    best.push(top === -Infinity ? null : top);
    mean.push(last.length ? sum / Math.min(WINDOW, last.length) : null);
  }
  return { xs, best, mean };
}

/**
 * Every n-th point, with the last one and all at which the best rose: the line shows those.
 * @param {Curves} curves
 * @param {number} [most]
 * @returns {Curves}
 */
export function thinned({ xs, best, mean }, most = MAX_POINTS) {
  const step = Math.ceil(xs.length / most);
  if (step < 2) return { xs, best, mean };
  const kept = xs
    .map((_, at) => at)
    .filter((at) => at % step === 0 || at === xs.length - 1 || best[at] !== best[at - 1]);
  const take = (/** @type {(number | null)[]} */ values) => kept.map((at) => values[at]);
  return { xs: kept.map((at) => xs[at]), best: take(best), mean: take(mean) };
}

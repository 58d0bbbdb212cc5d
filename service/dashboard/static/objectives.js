// What the charts of objectives share: scores out of rewards, fronts over time, and the page's choices in its address.
// @ts-check
import { nameOf } from "./candidate-name.js";

/**
 * @typedef {object} Objective
 * @property {string} name
 * @property {string} direction
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} reference
 */
/** @typedef {import("./columns.js").Columns} Columns */

/** The objectives of the page's run, in the order of its rewards. @returns {Objective[]} */
export function objectivesOfPage() {
  const found = document.querySelector("[data-objectives]");
  return found instanceof HTMLElement ? JSON.parse(found.dataset.objectives ?? "[]") : [];
}

/** A reward as the score that people know. @param {Objective} objective @param {number} reward */
export function scoreOf(objective, reward) {
  const minimised = objective.direction === "minimize";
  if (objective.low === null || objective.high === null) return minimised ? -reward : reward;
  return objective.low + (minimised ? 1 - reward : reward) * (objective.high - objective.low);
}

/** A score as a reward: larger is better. @param {Objective} objective @param {number} score */
export function rewardOf(objective, score) {
  const minimised = objective.direction === "minimize";
  if (objective.low === null || objective.high === null) return minimised ? -score : score;
  const share = (score - objective.low) / (objective.high - objective.low);
  return minimised ? 1 - share : share;
}

/** The worst score that counts, as a reward; null: none is known. @param {Objective} objective */
export function floorOf(objective) {
  if (objective.reference !== null) return rewardOf(objective, objective.reference);
  return objective.low === null ? null : 0;
}

/** Whether an evaluation has a place in the charts. @param {Columns} columns @param {number} at */
export function valid(columns, at) {
  return columns.fitness[at] !== null && columns.rewards.every((column) => column[at] !== null);
}

/** Which of the drawn evaluations are on the front after so many. @param {Columns} columns @param {number} count */
export function frontOf(columns, count) {
  const until = columns.front?.until ?? [];
  return until.flatMap((end, at) =>
    end !== null && columns.place[at] < count && (end < 0 || end >= count) ? [at] : [],
  );
}

/**
 * How many are on the front after so many evaluations, drawn or not; `about`: as many as a little earlier.
 * @param {Columns} columns
 * @param {number} count
 */
export function frontSize(columns, count) {
  if (!columns.sampled) return { size: frontOf(columns, count).length, about: false };
  const { counts, sizes } = columns.front ?? { counts: [], sizes: [] };
  const after = counts.findIndex((one) => one > count);
  const at = after < 0 ? counts.length - 1 : after - 1;
  return { size: sizes[at] ?? 0, about: counts[at] !== count };
}

/**
 * Evaluations by one objective, the best first, of equals by another.
 * @param {Columns} columns
 * @param {number} x
 * @param {number} y
 */
export function ordered(columns, x, y) {
  const across = /** @type {number[]} */ (columns.rewards[x]);
  const up = /** @type {number[]} */ (columns.rewards[y]);
  const found = [];
  for (let at = 0; at < columns.place.length; at += 1) if (valid(columns, at)) found.push(at);
  return found.sort((one, other) => across[other] - across[one] || up[other] - up[one] || one - other);
}

/**
 * The front of two objectives alone, from right to left.
 * @param {Columns} columns
 * @param {number[]} order
 * @param {(number | null)[]} up
 * @param {number} count of evaluations, drawn or not
 */
export function stairs(columns, order, up, count) {
  const steps = [];
  let best = -Infinity;
  for (const at of order) {
    const value = /** @type {number} */ (up[at]);
    if (columns.place[at] < count && value > best) {
      best = value;
      steps.push(at);
    }
  }
  return steps;
}

/** @typedef {import("./candidate-name.js").Names} Names */

/** Where a candidate is. @param {string} run @param {Names} columns @param {number} at */
export function addressOf(run, columns, at) {
  return `/runs/${run}/candidates/${nameOf(columns, at)}`;
}

/** An axis as words: its name, and which way is better. @param {Objective} objective */
export function titled(objective) {
  return `${objective.name} (${objective.direction === "minimize" ? "smaller" : "larger"} is better)`;
}

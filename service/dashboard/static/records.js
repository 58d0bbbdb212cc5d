// The candidates of a run that were better than all before them.
// @ts-check
import { nameOf } from "./candidate-name.js";

/** @typedef {import("./candidate-name.js").Names} Names */
/** @typedef {Names & Pick<import("./columns.js").Columns, "place" | "fitness">} RecordColumns */

/** Where they stand among the columns, the first one first. @param {RecordColumns} columns @returns {number[]} */
export function recordsOf(columns) {
  let best = -Infinity;
  return columns.fitness.flatMap((value, at) => {
    if (value === null || value <= best) return [];
    best = value;
    return [at];
  });
}

/** The best after so many evaluations; -1: none was valid. @param {RecordColumns} columns @param {number} until */
export function bestUntil(columns, until) {
  return (
    recordsOf(columns)
      .filter((at) => columns.place[at] < until)
      .at(-1) ?? -1
  );
}

/** What a replay needs to know of them. @param {() => RecordColumns | null | undefined} columns */
export function replayedRecords(columns) {
  return {
    best: (/** @type {number} */ until) => {
      const held = columns();
      const at = held ? bestUntil(held, until) : -1;
      return held && at >= 0 ? nameOf(held, at) : "";
    },
    stops: () => {
      const held = columns();
      return held ? recordsOf(held).map((at) => held.place[at] + 1) : [];
    },
  };
}

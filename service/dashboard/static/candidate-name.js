// The short name of a candidate in its run: its proposal and its position among the answers, from 0, such as 28.0.
// @ts-check
/** @typedef {Pick<import("./columns.js").Columns, "proposal_number" | "position">} Names */

/** By the columns of a run. @param {Names} columns @param {number} at */
export function nameOf(columns, at) {
  return `${columns.proposal_number[at]}.${columns.position[at]}`;
}

/** By an id, which ends in it. @param {string} id */
export function nameOfId(id) {
  const found = /^cnd_[0-9a-f]{20}_(\d+)_(\d+)$/.exec(id);
  return found ? `${found[1]}.${found[2]}` : id.slice(0, 12);
}

/** Where a candidate is among the columns of a run; -1: nowhere. @param {Names} columns @param {string} name */
export function placeOf(columns, name) {
  if (!name) return -1;
  const [number, position] = name.split(".").map(Number);
  return columns.proposal_number.findIndex((value, at) => value === number && columns.position[at] === position);
}

// The candidates of a run as a map needs them: where each stands, and who descends from whom.
// @ts-check

export const SELF = 1;
export const ANCESTOR = 2;
export const DESCENDANT = 3;
export const NARROWEST = 4; // part of the axis
const STEP = 0.2;
const ZOOM = 1.5;

/**
 * @typedef {object} Model
 * @property {number} count
 * @property {Float64Array} xs by candidate
 * @property {Uint32Array} order of the candidates by x
 * @property {Float64Array} sorted their x in that order
 * @property {Float64Array} fitness NaN: it failed
 * @property {Uint16Array} island
 * @property {Int32Array} parent place of the first parent; -1: none
 * @property {Uint32Array} depth steps from a seed
 * @property {number} islands how many there are
 * @property {number} low lowest fitness with room; what is below is drawn at the foot
 * @property {number} high
 * @property {number} end where the axis ends
 * @property {number} best place of the first of the highest fitness; -1: nothing is valid
 * @property {{x: number, place: number, kind: string, from: number, to: number}[]} moves migrations and resets
 * @property {number} until how many of the candidates are shown, in the order of their evaluations
 */

/**
 * The map of a run. Columns hold all its evaluations in order, so that a parent stands before its children.
 * @param {import("./columns.js").Columns} columns @param {string} axis `proposal` or `evaluation`
 * @returns {Model}
 */
export function modelOf(columns, axis) {
  const count = columns.place.length;
  const xs = new Float64Array(count);
  const fitness = new Float64Array(count);
  const island = Uint16Array.from(columns.island);
  const parent = Int32Array.from(columns.parent);
  const depth = new Uint32Array(count);
  const widest = columns.position.reduce((most, position) => Math.max(most, position), 0) + 1;
  let best = -1;
  let islands = 1;
  for (let at = 0; at < count; at += 1) {
    // Answers of one proposal stand side by side.
    xs[at] = axis === "evaluation" ? at + 1 : columns.proposal_number[at] + (0.8 * columns.position[at]) / widest;
    fitness[at] = columns.fitness[at] ?? NaN;
    if (fitness[at] > (best < 0 ? -Infinity : fitness[best])) best = at;
    if (parent[at] >= at) parent[at] = -1;
    if (parent[at] >= 0) depth[at] = depth[parent[at]] + 1;
    islands = Math.max(islands, island[at] + 1);
  }
  const order = Uint32Array.from({ length: count }, (_, at) => at);
  if (axis !== "evaluation") order.sort((a, b) => xs[a] - xs[b]);
  const sorted = Float64Array.from(order, (at) => xs[at]);
  const [low, high] = span(fitness);
  const moves = columns.marks
    .filter((one) => one.kind.startsWith("island."))
    .map((one) => ({
      x:
        axis === "evaluation"
          ? one.place + 0.5
          : (one.place ? (columns.proposal_number[Math.min(one.place, count) - 1] ?? 0) : 0) + 0.9,
      place: one.place,
      kind: one.kind,
      from: one.from_island ?? -1,
      to: one.to_island ?? -1,
    }));
  for (const one of moves) islands = Math.max(islands, one.from + 1, one.to + 1);
  return {
    count,
    xs,
    order,
    sorted,
    fitness,
    island,
    parent,
    depth,
    islands,
    low,
    high,
    end: count ? sorted[count - 1] + 1 : 1,
    best,
    moves,
    until: count,
  };
}

/** Room for most: what is far below the others would press them flat. @param {Float64Array} fitness */
function span(fitness) {
  const values = fitness.filter((value) => !Number.isNaN(value)).sort();
  if (!values.length) return [0, 1];
  const low = values[Math.floor(0.02 * (values.length - 1))];
  const high = values[values.length - 1];
  const room = 0.04 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

/**
 * Who is related to a candidate: a flag for each, in one pass each way.
 * @param {Model} model @param {number} chosen
 */
export function relativesOf(model, chosen) {
  const flags = new Uint8Array(model.count);
  if (chosen < 0) return { flags, ancestors: 0, descendants: 0 };
  let ancestors = 0;
  let descendants = 0;
  for (let at = model.parent[chosen]; at >= 0; at = model.parent[at]) {
    flags[at] = ANCESTOR;
    ancestors += 1;
  }
  flags[chosen] = SELF;
  for (let at = chosen + 1; at < model.count; at += 1) {
    const parent = model.parent[at];
    const flag = parent < 0 ? 0 : flags[parent];
    if (flag === SELF || flag === DESCENDANT) {
      flags[at] = DESCENDANT;
      descendants += 1;
    }
  }
  return { flags, ancestors, descendants };
}

/** The best child of a candidate; -1: it has none that is valid. @param {Model} model @param {number} chosen */
export function bestChild(model, chosen) {
  let best = -1;
  for (let at = chosen + 1; at < model.count; at += 1) {
    if (model.parent[at] === chosen && model.fitness[at] > (best < 0 ? -Infinity : model.fitness[best])) best = at;
  }
  return best;
}

/** The first place in rising values that is not below one. @param {Float64Array} values @param {number} wanted */
export function firstAt(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The part of the axis that a key leads to; null: it leads nowhere.
 * @param {string} key
 * @param {{from: number, to: number}} view
 * @returns {[number, number] | null}
 */
export function viewAfter(key, { from, to }) {
  const step = STEP * (to - from);
  if (key === "ArrowLeft") return [from - step, to - step];
  if (key === "ArrowRight") return [from + step, to + step];
  if (key === "+" || key === "=") return zoomed({ from, to }, ZOOM, 0.5);
  if (key === "-") return zoomed({ from, to }, 1 / ZOOM, 0.5);
  return key === "0" ? [-Infinity, Infinity] : null;
}

/**
 * A part of the axis that is so many times as narrow, around a share of the view.
 * @param {{from: number, to: number}} view @param {number} factor @param {number} share
 * @returns {[number, number]}
 */
export function zoomed({ from, to }, factor, share) {
  const wide = to - from;
  const narrow = Math.max(NARROWEST, wide / factor);
  const around = from + share * wide;
  return [around - share * narrow, around + (1 - share) * narrow];
}

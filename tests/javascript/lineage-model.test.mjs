import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { viewAfter, zoomed } = await load("lineage-model.js");
const { bestUntil, recordsOf } = await load("records.js");

test("keys move the view, zoom it around its middle, and show all", () => {
  const view = { from: 10, to: 20 };
  assert.deepEqual(viewAfter("ArrowLeft", view), [8, 18]);
  assert.deepEqual(viewAfter("ArrowRight", view), [12, 22]);
  assert.deepEqual(viewAfter("-", view), [7.5, 22.5]);
  assert.deepEqual(viewAfter("0", view), [-Infinity, Infinity]);
  assert.equal(viewAfter("x", view), null);
});

test("what is under the pointer stays there, and the view never gets too narrow to move in", () => {
  const [from, to] = zoomed({ from: 0, to: 100 }, 2, 0.25);
  assert.deepEqual([from, to], [12.5, 62.5]);
  assert.equal(from + 0.25 * (to - from), 25);
  assert.deepEqual(zoomed({ from: 0, to: 8 }, 1000, 0.5), [2, 6]);
});

test("records are better than all before them, whatever came between", () => {
  const columns = {
    place: [0, 1, 4, 5, 9],
    fitness: [0.2, null, 0.2, 0.5, 0.4],
    proposal_number: [0, 1, 2, 3, 4],
    position: [0, 0, 0, 0, 0],
  };
  assert.deepEqual(recordsOf(columns), [0, 3]);
  assert.deepEqual([0, 1, 5, 6, 10].map((until) => bestUntil(columns, until)), [-1, 0, 0, 3, 3]);
});

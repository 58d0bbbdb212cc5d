import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { distances } = await load("known-best.js");

test("distances are above 0 on either side of a direction, and half of the smallest at what is known", () => {
  assert.deepEqual(distances([6, null, 10], [6, null, 10, 8], 10, 1), [4, null, 1]);
  assert.deepEqual(distances([6, 2], [6, 2, 4], 2, -1), [4, 1]);
});

test("where every score reaches what is known, all are at one small distance", () => {
  assert.deepEqual(distances([3, 4], [3, 4], 3, 1), [1e-12, 1e-12]);
});

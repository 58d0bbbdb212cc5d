import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { AHEAD, SERIES, forecastData } = await load("cost-forecast.js");
const points = [
  { evaluations: 5, tokens_input: 50, tokens_cached: 0, tokens_output: 10 },
  { evaluations: 9, tokens_input: 90, tokens_cached: 30, tokens_output: 18 },
];

test("without a forecast there are the lines alone", () => {
  assert.deepEqual(forecastData(points, null), [[5, 9], [50, 90], [0, 30], [10, 18]]);
});

test("a forecast leads from the last point to the end, and all lines are of one length", () => {
  const data = forecastData(points, { end: 100, tokens_input: [900, 1000, 1100], tokens_output: [150, 200, 250] });
  assert.equal(data.length, 1 + SERIES.length + 3 * AHEAD.length);
  assert.ok(data.every((column) => column.length === 3));
  assert.deepEqual(data[0], [5, 9, 100]);
  assert.deepEqual(data.slice(4), [
    [null, 90, 900], [null, 90, 1000], [null, 90, 1100],
    [null, 18, 150], [null, 18, 200], [null, 18, 250],
  ]);
});

test("what is not forecast ends where it is", () => {
  assert.deepEqual(forecastData(points, { end: 100 })[4], [null, 90, null]);
});

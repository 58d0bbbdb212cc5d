// Brushes on parallel axes: which runs pass through them, and how an address holds them.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./modules.mjs";

const { brushed, endsOf, rangeOf, read, valuesOn, written } = await load("batch-brush.js");
const LINES = [
  { run: "a", ys: [200, 50], values: ["1", "0.9"] },
  { run: "b", ys: [100, 150], values: ["2", "0.5"] },
  { run: "c", ys: [100, 250], values: ["2", "0.1"] },
];

test("runs are selected that pass through all brushes", () => {
  const runs = (brushes) => brushed(LINES, brushes).map((line) => line.run);
  assert.deepEqual(runs([null, null]), ["a", "b", "c"]);
  assert.deepEqual(runs([[90, 110], null]), ["b", "c"]);
  assert.deepEqual(
    runs([
      [90, 110],
      [0, 160],
    ]),
    ["b"],
  );
});

test("a brush is kept by the values that it holds", () => {
  assert.deepEqual(valuesOn(LINES, 0), [
    ["1", 200],
    ["2", 100],
  ]);
  assert.deepEqual(endsOf(LINES, 1, [100, 260]), ["0.1", "0.5"]);
  assert.equal(endsOf(LINES, 1, [0, 10]), null);
  assert.deepEqual(
    brushed(LINES, [null, rangeOf(LINES, 1, ["0.1", "0.5"])]).map((line) => line.run),
    ["b", "c"],
  );
  assert.deepEqual(
    brushed(LINES, [null, rangeOf(LINES, 1, ["0.5", ""])]).map((line) => line.run),
    ["a", "b"],
  );
  assert.equal(rangeOf(LINES, 0, ["9", "8"]), null);
});

test("an address holds any values", () => {
  for (const ends of [
    ["1", "2"],
    ["a~b", "<i>&%7E"],
    ["", "x"],
  ])
    assert.deepEqual(read(written(ends)), ends);
  for (const text of ["", "1", "1~2~3", "%~1"]) assert.equal(read(text), null);
});

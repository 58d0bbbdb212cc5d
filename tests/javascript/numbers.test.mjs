import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DATA, load } from "./modules.mjs";

const numbers = await load("numbers.js");
const cases = JSON.parse(readFileSync(join(DATA, "numbers.json"), "utf-8"));
const CALLS = {
  number: numbers.number,
  signed: numbers.signed,
  digits_apart: numbers.digitsApart,
  axis: (low, high, count) => numbers.tickTexts(numbers.ticks(low, high, count)),
};

for (const [name, rows] of Object.entries(cases))
  test(`${name} writes what the cases of the server say`, () => {
    assert.ok(rows.length > 0);
    for (const row of rows) assert.deepEqual(CALLS[name](...row.slice(0, -1)), row[row.length - 1], JSON.stringify(row));
  });

test("round steps of a logarithmic axis lie within it", () => {
  for (const [low, high] of [[1e-9, 1e9], [0.3, 0.31], [1, 1000]]) {
    const found = numbers.logTicks(low, high, 6);
    assert.ok(found.length > 1 && found.length < 20, String(found));
    assert.ok(found.every((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)));
  }
});

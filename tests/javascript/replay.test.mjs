import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { nextMoment } = await load("replay.js");

/** All moments of a replay from the first evaluation on. */
function moments(total, stops, still) {
  const found = [1];
  while (found.at(-1) < total) found.push(nextMoment(found.at(-1), total, stops, still));
  return found;
}

test("a replay ends at the end, and takes as long for any run", () => {
  for (const total of [3, 240, 10_000, 100_000]) {
    const seen = moments(total, [], false);
    assert.equal(seen.at(-1), total);
    assert.ok(seen.length <= 260, `${seen.length} frames of ${total}`);
  }
  assert.equal(moments(5, [], false).length, 5);
});

test("without motion it goes from new best to new best", () => {
  assert.deepEqual(moments(100, [1, 7, 60], true), [1, 7, 60, 100]);
  assert.ok(moments(10_000, [], true).length <= 22);
});

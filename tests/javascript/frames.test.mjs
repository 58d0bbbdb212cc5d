import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

/** A browser whose frames are drawn by hand. */
const frames = [];
globalThis.requestAnimationFrame = (callback) => frames.push(callback);
globalThis.window = globalThis;
globalThis.document = { hidden: false };
const frame = () => {
  for (const callback of frames.splice(0)) callback();
};

const { drawn, inTurn } = await load("frames.js");

test("charts are drawn one a frame, in the order in which they asked, and once", () => {
  const seen = [];
  const [first, second] = [{}, {}];
  inTurn(first, () => seen.push("old"));
  inTurn(second, () => seen.push("second"));
  inTurn(first, () => seen.push("first"));
  frame();
  assert.deepEqual(seen, ["first"]);
  frame();
  assert.deepEqual(seen, ["first", "second"]);
  frame();
  assert.equal(frames.length, 0);
});

test("a chart that fails leaves the next ones their frames", () => {
  const seen = [];
  inTurn({}, () => {
    throw new Error("this chart cannot be drawn");
  });
  inTurn({}, () => seen.push("next"));
  assert.throws(frame, /cannot be drawn/);
  frame();
  assert.deepEqual(seen, ["next"]);
});

test("all are drawn once nothing waits for a frame", async () => {
  const seen = [];
  inTurn({}, () => seen.push(1));
  inTurn({}, () => seen.push(2));
  const done = drawn().then(() => seen.push("done"));
  while (seen.at(-1) !== "done") {
    frame();
    await new Promise((resolve) => setTimeout(resolve));
  }
  await done;
  assert.deepEqual(seen, [1, 2, "done"]);
});

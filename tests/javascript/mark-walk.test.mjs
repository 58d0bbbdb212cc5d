import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { MarkWalk } = await load("mark-walk.js");

/** A chart of these marks, and what it hears. */
function chart(marks, first) {
  const plot = Object.assign(new EventTarget(), { setAttribute() {} });
  const said = [];
  const actions = {
    order: () => marks,
    first: first === undefined ? undefined : () => first,
    show: (mark) => said.push(`show ${mark}`),
    open: (mark) => said.push(`open ${mark}`),
    leave: () => said.push("leave"),
  };
  const walk = new MarkWalk(plot, "Marks", actions);
  return { said, plot, press: (...keys) => keys.map((key) => walk.press(key)) };
}

test("arrows walk from where the chart begins, and stay at the ends", () => {
  const { said, press } = chart(["a", "b", "c"], "c");
  press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight", "End", "ArrowDown", "Home");
  assert.deepEqual(
    said.map((one) => one.slice(-1)),
    ["c", "b", "a", "a", "b", "c", "c", "a"],
  );
});

test("Enter inspects the mark, and without a walk the first", () => {
  const { said, press } = chart([7, 8]);
  press("Enter", "ArrowRight", "Enter");
  assert.deepEqual(said, ["open 7", "show 8", "open 8"]);
});

test("marks that are gone begin the walk again", () => {
  const marks = ["a", "b"];
  const { said, press } = chart(marks);
  press("End");
  marks.splice(0, 2, "x", "y");
  press("ArrowRight");
  assert.deepEqual(said, ["show b", "show x"]);
});

test("other keys mean nothing, and neither does any on a chart without marks", () => {
  assert.deepEqual(chart(["a"]).press("x", "Tab"), [false, false]);
  assert.deepEqual(chart([]).press("ArrowLeft", "Enter"), [false, false]);
});

test("a chart hears that the keyboard has left, and goes on where it was", () => {
  const { said, plot, press } = chart(["a", "b"]);
  press("End");
  plot.dispatchEvent(new Event("blur"));
  press("ArrowLeft");
  assert.deepEqual(said, ["show b", "leave", "show a"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

globalThis.document ??= Object.assign(new EventTarget(), {
  documentElement: { dataset: {} },
  createElement: () => ({ style: {}, hidden: false, textContent: "" }),
});
globalThis.getComputedStyle ??= () => ({ getPropertyValue: (name) => name });
globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} });
const { Drag, Scale, Tip, drawAcross, fit, nearestMark } = await load("canvas-chart.js");

test("a scale leads to a share and back, flipped or logarithmic or neither", () => {
  for (const log of [false, true])
    for (const flipped of [false, true]) {
      const scale = new Scale(2, 32, { log, flipped });
      for (const value of [2, 7.5, 32]) assert.ok(Math.abs(scale.value(scale.share(value)) - value) < 1e-12);
      assert.equal(scale.share(2), flipped ? 1 : 0);
    }
  assert.ok(Math.abs(new Scale(2, 32, { log: true }).share(8) - 0.5) < 1e-12);
  assert.equal(new Scale(5, 5).share(5), 0.5);
});

test("values outside of an axis end at its ends", () => {
  assert.deepEqual([-1, 2].map((share) => new Scale(0, 10).value(share)), [0, 10]);
});

test("ticks stand where their values are, also on a flipped axis", () => {
  const ticks = new Scale(0, 10, { flipped: true }).ticks(2, 100, 0);
  assert.deepEqual(ticks, [
    { at: 0, text: "0" },
    { at: 50, text: "5" },
    { at: 100, text: "10" },
  ]);
  assert.deepEqual(
    new Scale(1, 1000, { log: true }).ticks(4, 0, 300).map(({ text }) => text),
    ["1", "10", "100", "1\u202f000"],
  );
});

/** A pen that notes words and where they are; a character is 6 pixels wide. */
function pen() {
  const words = [];
  const nothing = () => undefined;
  return {
    words,
    measureText: (text) => ({ width: 6 * text.length }),
    fillText: (text, x, y) => words.push([text, x, y]),
    beginPath: nothing,
    moveTo: nothing,
    lineTo: nothing,
    stroke: nothing,
  };
}

test("no word of an axis leaves the picture", () => {
  const drawn = pen();
  const frame = { left: 60, right: 196, top: 0, foot: 100, width: 200, height: 140 };
  drawAcross(drawn, frame, [{ at: 196, text: "1000" }], "A title that is far too long for the axis");
  const [tick, title] = drawn.words;
  assert.deepEqual(tick, ["1000", 188, 106]);
  assert.ok(title[0].endsWith("…") && 6 * title[0].length <= 136);
  assert.equal(fit(drawn, "short", 60), "short");
});

test("a tip stands on the side that has the room", () => {
  const tip = new Tip();
  assert.ok(tip.element.hidden);
  tip.show("words", 10, 50, 200);
  assert.deepEqual([tip.element.textContent, tip.element.hidden], ["words", false]);
  assert.deepEqual({ ...tip.element.style }, { left: "24px", right: "auto", top: "30px" });
  tip.show("words", 150, 5, 200);
  assert.deepEqual({ ...tip.element.style }, { left: "auto", right: "64px", top: "0px" });
  tip.hide();
  assert.ok(tip.element.hidden);
});

test("the nearest mark is within reach, the first of equals", () => {
  const places = [[0, 0], [10, 0], [10, 0], [90, 0]];
  const near = (x, reach) => nearestMark([0, 1, 2, 3], (at) => places[at], x, 0, reach);
  assert.deepEqual([near(7, 5), near(2, 5), near(50, 5)], [1, 0, -1]);
});

/** What a chart hears of events at these places. */
function heard(events, upright, pressed = true) {
  const element = Object.assign(new EventTarget(), { setPointerCapture() {} });
  const said = [];
  const drag = new Drag(
    element,
    {
      press: () => pressed,
      drag: (event, from) => said.push(`drag ${event.clientX - from.clientX},${event.clientY - from.clientY}`),
      drop: () => said.push("drop"),
      click: () => said.push("click"),
      hover: () => said.push("hover"),
      leave: () => said.push("leave"),
    },
    upright,
  );
  for (const [type, clientX = 0, clientY = 0, button = 0] of events)
    element.dispatchEvent(Object.assign(new Event(type), { clientX, clientY, button, pointerId: 1 }));
  assert.equal(drag.held, null);
  return said;
}

test("a press that stays is a click, and one that moves a drag", () => {
  assert.deepEqual(heard([["pointerdown", 5, 5], ["pointermove", 7, 5], ["pointerup", 7, 5]], false), ["click"]);
  assert.deepEqual(
    heard([["pointerdown", 5, 5], ["pointermove", 15, 5], ["pointermove", 5, 5], ["pointerup", 5, 5]], false),
    ["drag 10,0", "drag 0,0", "drop"],
  );
});

test("an upright drag does not begin by moves to the side", () => {
  assert.deepEqual(heard([["pointerdown", 5, 5], ["pointermove", 50, 6], ["pointerup", 50, 6]], true), ["click"]);
  assert.deepEqual(heard([["pointerdown", 5, 5], ["pointermove", 5, 12], ["pointerup", 5, 12]], true), ["drag 0,7", "drop"]);
});

test("other buttons and refused presses begin nothing, and a cancelled drag is dropped", () => {
  assert.deepEqual(heard([["pointerdown", 5, 5, 2], ["pointermove", 50, 5], ["pointerup", 50, 5]], false), ["hover"]);
  assert.deepEqual(heard([["pointerdown", 5, 5], ["pointermove", 50, 5], ["pointerleave"]], false, false), ["hover", "leave"]);
  assert.deepEqual(heard([["pointerdown"], ["pointermove", 9, 0], ["pointercancel"]], false), ["drag 9,0", "drop"]);
});

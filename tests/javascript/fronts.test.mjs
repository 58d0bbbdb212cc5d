import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { frontOf, frontSize, ordered, stairs, rewardOf, scoreOf } = await load("objectives.js");

// Places 0 to 4 of a run; place 1 ends 0, place 3 ends 1; 2 is not valid, 4 was dominated from the start.
const whole = {
  total: 5,
  sampled: false,
  place: [0, 1, 2, 3, 4],
  fitness: [0.1, 0.2, null, 0.4, 0.1],
  rewards: [
    [0.1, 0.2, null, 0.3, 0.0],
    [0.1, 0.2, null, 0.2, 0.1],
  ],
  front: { until: [1, 3, null, -1, null], counts: [1, 3, 5], sizes: [1, 1, 1], ended: [], ended_by: [] },
};

test("the front of a moment holds what nothing had dominated by then", () => {
  assert.deepEqual([1, 2, 3, 4, 5].map((count) => frontOf(whole, count)), [[0], [1], [1], [3], [3]]);
});

test("a sample knows places from indices, and the size of the front from the service", () => {
  const sample = { ...whole, sampled: true, place: [0, 3], front: { ...whole.front, until: [1, -1], sizes: [1, 2, 7] } };
  assert.deepEqual(frontOf(sample, 1), [0]);
  assert.deepEqual(frontOf(sample, 5), [1]);
  assert.deepEqual(frontSize(sample, 5), { size: 7, about: false });
  assert.deepEqual(frontSize(sample, 4), { size: 2, about: true });
  assert.deepEqual(frontSize(whole, 4), { size: 1, about: false });
});

test("the stairs of two objectives go from right to left and up", () => {
  const order = ordered(whole, 0, 1);
  assert.deepEqual(stairs(whole, order, whole.rewards[1], 5), [3]);
  assert.deepEqual(stairs(whole, order, whole.rewards[1], 2), [1]);
});

test("a score is its reward's and back", () => {
  for (const direction of ["minimize", "maximize"])
    for (const bounds of [{ low: null, high: null }, { low: -10, high: 30 }]) {
      const objective = { direction, ...bounds };
      for (const score of [-3, 0, 12.5]) assert.ok(Math.abs(scoreOf(objective, rewardOf(objective, score)) - score) < 1e-9);
    }
});

test("equal vectors are all on the front, make one step, and have a place on a flat axis", async () => {
  const { Axis, shareAt, up } = await load("parallel-picture.js");
  const count = 19;
  const places = Array.from({ length: count }, (_, at) => at);
  const equal = {
    total: count,
    sampled: false,
    place: places,
    fitness: places.map(() => 0.5),
    rewards: [places.map(() => 0.75), places.map(() => 0.5)],
    front: { until: places.map(() => -1), counts: [count], sizes: [count], ended: [], ended_by: [] },
  };
  assert.deepEqual(frontOf(equal, count), places);
  assert.deepEqual(frontSize(equal, count), { size: count, about: false });
  const order = ordered(equal, 0, 1);
  assert.deepEqual(order, places);
  assert.deepEqual(stairs(equal, order, equal.rewards[1], count), [0]);
  const axis = new Axis("f1", true, () => 0.25);
  axis.cover(places);
  const share = axis.share(0.25);
  assert.ok(share >= 0 && share <= 1, `${share}`);
  assert.ok(Math.abs(shareAt(up(share)) - share) < 1e-9);
  assert.ok(axis.ticks(5, 0, 100).every(({ at }) => Number.isFinite(at)));
});

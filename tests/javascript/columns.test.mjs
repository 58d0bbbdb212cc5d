import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { Store } = await load("columns.js");
const { curvesOf, thinned } = await load("island-series.js");

const SERIES = ["proposal_number", "position", "island", "fitness", "parent", "operator", "policy", "seconds"];
const part = (begin, places, changes) => ({
  total: begin + places.length,
  begin,
  sequence: 10 * (begin + places.length),
  sampled: false,
  outcomes: ["ok"],
  operators: ["seed"],
  policies: [""],
  objectives: ["value"],
  place: places,
  outcome: places.map(() => 0),
  ...Object.fromEntries(SERIES.map((name) => [name, places.map(() => 0)])),
  rewards: [places.map(() => 1)],
  marks: [],
  front: null,
  ...changes,
});

test("what is new is appended, with its names in the order of those that are held", () => {
  const store = new Store("");
  store.take(part(0, [0, 1], { outcomes: ["ok", "timeout"], outcome: [0, 1] }));
  store.take(part(2, [2, 3], { outcomes: ["error", "ok"], outcome: [0, 1] }));
  assert.deepEqual(store.columns.place, [0, 1, 2, 3]);
  assert.deepEqual(store.columns.outcome.map((code) => store.columns.outcomes[code]), ["ok", "timeout", "error", "ok"]);
  assert.equal(store.columns.total, 4);
});

test("members that left the front are told by their places", () => {
  const front = (until, more) => ({ until, counts: [], sizes: [], ended: [], ended_by: [], ...more });
  const store = new Store("");
  store.take(part(0, [0, 1], { front: front([-1, -1]) }));
  store.take(part(2, [2], { front: front([-1], { ended: [1], ended_by: [2], counts: [3], sizes: [2] }) }));
  assert.deepEqual(store.columns.front.until, [-1, 2, -1]);
  assert.deepEqual(store.columns.front.sizes, [2]);
});

test("the curves of an island keep their rises and their end when they are thinned", () => {
  const places = Array.from({ length: 5000 }, (_, at) => at);
  const columns = part(0, places, { fitness: places.map((at) => (at === 1234 ? 9 : at === 7 ? null : 1)) });
  const curves = curvesOf(columns, 0);
  assert.equal(curves.xs.length, 5000);
  assert.equal(curves.mean[4999], 1);
  const few = thinned(curves, 100);
  assert.ok(few.xs.length <= 104, String(few.xs.length));
  assert.equal(few.xs[few.xs.length - 1], 5000);
  assert.equal(few.best[few.xs.indexOf(1235)], 9);
  assert.equal(thinned(curvesOf(columns, 1)).xs.length, 0);
});

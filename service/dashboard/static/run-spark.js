// <run-spark data-src data-sign>: the best score of a run so far as a small line; fetched when its row comes into view.
// @ts-check

const WIDTH = 96;
const HEIGHT = 24;
const MAX_AT_ONCE = 2;
const NAMESPACE = "http://www.w3.org/2000/svg";

/** @type {RunSpark[]} */
const waiting = [];
let running = 0;

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting || !(entry.target instanceof RunSpark)) continue;
    seen.unobserve(entry.target);
    waiting.push(entry.target);
  }
  next();
});

function next() {
  while (running < MAX_AT_ONCE && waiting.length) {
    const spark = waiting.shift();
    running += 1;
    void spark?.load().finally(() => {
      running -= 1;
      next();
    });
  }
}

class RunSpark extends HTMLElement {
  connectedCallback() {
    seen.observe(this);
  }

  disconnectedCallback() {
    seen.unobserve(this);
  }

  async load() {
    try {
      const answer = await fetch(this.dataset.src ?? "", { headers: { Accept: "application/json" } });
      if (answer.ok) this.draw((await answer.json()).points);
    } catch {
      // The list says itself that the service is away.
    }
  }

  /** @param {{evaluations: number, best_fitness: number | null}[]} points */
  draw(points) {
    const sign = Number(this.dataset.sign ?? 1);
    const line = points.flatMap((point) =>
      point.best_fitness === null ? [] : [[point.evaluations, sign * point.best_fitness]],
    );
    this.dataset.points = String(line.length);
    if (line.length < 2) return;
    const [xs, ys] = [line.map(([x]) => x), line.map(([, y]) => y)];
    const [left, low, high] = [xs[0], Math.min(...ys), Math.max(...ys)];
    const across = (/** @type {number} */ x) => 1 + ((WIDTH - 2) * (x - left)) / (xs[xs.length - 1] - left || 1);
    const up = (/** @type {number} */ y) => HEIGHT - 2 - ((HEIGHT - 4) * (y - low)) / (high - low || 1);
    const picture = document.createElementNS(NAMESPACE, "svg");
    const path = document.createElementNS(NAMESPACE, "path");
    for (const [name, value] of Object.entries({ width: WIDTH, height: HEIGHT, role: "img" }))
      picture.setAttribute(name, String(value));
    picture.setAttribute("aria-label", `Best score so far, over ${xs[xs.length - 1]} evaluations`);
    const steps = line.map(([x, y], at) => {
      const place = across(x).toFixed(1);
      return `${at ? `H${place}V` : `M${place},`}${up(y).toFixed(1)}`;
    });
    path.setAttribute("d", steps.join(""));
    picture.append(path);
    this.replaceChildren(picture);
  }
}

customElements.define("run-spark", RunSpark);

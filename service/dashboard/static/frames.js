// One chart a frame: two that are drawn in the same frame make one long task of the main thread, with what the browser
// does to show them.
// @ts-check

const HIDDEN_MILLISECONDS = 100; // a page in the background has no frames

/** Charts that wait, with what draws each. @type {Map<object, () => void>} */
const waiting = new Map();
let asked = false;

/**
 * Draws a chart in the next frame that is free; once, however often it is asked meanwhile.
 * @param {object} chart @param {() => void} draw
 */
export function inTurn(chart, draw) {
  waiting.set(chart, draw);
  if (!asked) next();
}

function next() {
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const [first] = waiting;
    if (!first) return;
    const [chart, draw] = first;
    waiting.delete(chart);
    if (waiting.size) next();
    draw();
  });
}

/** Resolves when all charts that have asked for a frame are drawn. */
export async function drawn() {
  do await frame();
  while (waiting.size && !document.hidden);
}

function frame() {
  return new Promise((resolve) => {
    window.setTimeout(resolve, HIDDEN_MILLISECONDS);
    requestAnimationFrame(() => window.setTimeout(resolve));
  });
}

// Scores of the run that a page is about, as people know them: what is minimised has a fitness of the other sign.
// @ts-check

/** What makes of the run's fitness its score: 1 or -1. */
export function scoreSign() {
  return Number(ofPage("scoreSign") ?? 1);
}

/** What the number is called that candidates are ranked by. */
export function scoreWord() {
  return ofPage("scoreWord") ?? "fitness";
}

/** The score of a fitness. @template {number | null | undefined} Value @param {Value} fitness */
export function asScore(fitness) {
  return fitness === null || fitness === undefined ? null : scoreSign() * fitness || 0;
}

/** @param {"scoreSign" | "scoreWord"} name */
function ofPage(name) {
  const found = document.querySelector("[data-score-sign]");
  return found instanceof HTMLElement ? found.dataset[name] : undefined;
}

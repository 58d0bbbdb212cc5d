// How far scores are from the best that is known.
// @ts-check

/**
 * Distances for a logarithmic axis. A score that reaches what is known has no logarithm: it is drawn below the smallest
 * distance.
 * @param {(number | null)[]} values
 * @param {(number | null)[]} scores of all candidates
 * @param {number} known
 * @param {number} sign -1 where smaller scores are better
 */
export function distances(values, scores, known, sign) {
  const gap = (/** @type {number | null} */ value) => (value === null ? null : sign * (known - value));
  const least = scores.reduce((/** @type {number} */ size, value) => {
    const found = gap(value);
    return found !== null && found > 0 ? Math.min(size, found) : size;
  }, Infinity);
  const floor = least === Infinity ? 1e-12 : least / 2;
  return values.map((value) => {
    const found = gap(value);
    return found === null ? null : Math.max(found, floor);
  });
}

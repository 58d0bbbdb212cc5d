// Numbers as people read them, in texts and on axes. `service/dashboard/numbers.py` writes the same texts on the
// server: tests/data/numbers.json holds cases for both.
// @ts-check

export const NOTHING = "–";
const GAP = "\u202f"; // a narrow space between groups of three digits
const MIN_PLAIN = 1e-4; // smaller ones, and those from MAX_PLAIN on, have an exponent
const MAX_PLAIN = 1e15;
const MAX_DIGITS = 15; // that a float of 64 bits keeps
const MAX_SHOWN_DIGITS = 10; // of a number that is all but whole
const MAX_AXIS_PLAIN = 1e7; // an axis has less room

/**
 * A number in so many significant digits; a whole number has all of its own.
 * @param {number | null | undefined} value
 * @param {number} [digits]
 * @returns {string}
 */
export function number(value, digits = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= MAX_PLAIN) return exponential(value, digits - 1);
  if (Number.isInteger(value) || size >= 10 ** digits) return grouped(value.toFixed(0));
  if (size < MIN_PLAIN) return exponential(value, digits - 1);
  const text = trimmed(value.toFixed(decimalsFor(value, digits)));
  // 0.9999999 is not 1: what is not whole is not written as if it were, but for the dust of floats.
  const hides = size < 10 ** (digits - 1) && digits < MAX_SHOWN_DIGITS && !text.includes(".");
  return hides ? number(value, digits + 1) : grouped(text);
}

/**
 * How many significant digits tell numbers apart; equal ones need none.
 * @param {readonly (number | null)[]} values
 * @param {number} [least]
 */
export function digitsApart(values, least = 5) {
  const different = new Set(values.filter((value) => value !== null));
  for (let digits = least; digits < MAX_DIGITS; digits += 1)
    if (new Set([...different].map((value) => number(value, digits))).size === different.size) return digits;
  return MAX_DIGITS;
}

/**
 * Round values of an axis from `low` to `high`, in about `count` steps of 1, 2 or 5.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 */
export function ticks(low, high, count) {
  if (!(high > low) || !Number.isFinite(high - low)) return Number.isFinite(low) ? [low] : [];
  return ticksBy(low, high, roundStep((high - low) / Math.max(1, count)));
}

/**
 * The multiples of a step within a range.
 * @param {number} low
 * @param {number} high
 * @param {number} step
 */
export function ticksBy(low, high, step) {
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let at = first; at <= last && found.length < 100; at += 1) found.push(multiple(at, step));
  return found;
}

/**
 * Round values of a logarithmic axis, at most about `count`: powers of ten, with 2 and 5 between them where there
 * is room.
 * @param {number} low above 0
 * @param {number} high
 * @param {number} count
 */
export function logTicks(low, high, count) {
  const [first, last] = [low, high].map((value) => Math.floor(Math.log10(value)));
  const decades = last - first + 1;
  if (high / low < 2) return ticks(low, high, count);
  const units = 3 * decades <= count ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const found = [];
  for (let power = first; power <= last; power += 1)
    if (power % every === 0)
      for (const unit of units) {
        const value = scaled(unit, power);
        if (value >= low && value <= high) found.push(value);
      }
  return found.length > 1 ? found : ticks(low, high, count);
}

/** The next step of 1, 2 or 5 times a power of ten. @param {number} rough */
export function roundStep(rough) {
  const power = Math.floor(Math.log10(rough));
  const unit = [1, 2, 5].find((one) => scaled(one, power) >= rough * (1 - 1e-9));
  return unit ? scaled(unit, power) : scaled(1, power + 1);
}

/**
 * What stands at the values of an axis: as many digits as tell one from the next.
 * @param {readonly number[]} values at equal steps
 * @returns {string[]}
 */
export function tickTexts(values) {
  const size = Math.max(...values.map(Math.abs), 0);
  if (values.length < 2 || !size) return values.map((value) => number(value));
  const step = Math.min(...values.slice(1).map((value, at) => Math.abs(value - values[at])));
  const fine = powerOf(step);
  if (size >= MAX_AXIS_PLAIN || size < 10 * MIN_PLAIN)
    return values.map((value) => (value ? exponential(value, clamp(powerOf(value) - fine)) : "0"));
  const decimals = clamp(-fine);
  return values.map((value) => grouped(withoutMinusZero(value.toFixed(decimals))));
}

/** A difference with its sign. @param {number | null | undefined} value @param {number} [digits] */
export function signed(value, digits = 4) {
  const text = number(value, digits);
  return value ? (value > 0 ? `+${text}` : text) : value === 0 ? "±0" : text;
}

/** The power of ten of a number's first digit. @param {number} value */
function powerOf(value) {
  return Number(value.toExponential(12).split("e")[1]);
}

/** @param {number} value @param {number} digits */
function decimalsFor(value, digits) {
  return clamp(digits - 1 - Number(value.toExponential(digits - 1).split("e")[1]));
}

/** @param {number} value @param {number} decimals */
function exponential(value, decimals) {
  const [digits, power] = value.toExponential(Math.min(decimals, MAX_DIGITS - 1)).split("e");
  return `${trimmed(digits)}e${Number(power)}`;
}

/** The digits of a text without zeros at the end of its fraction. @param {string} text */
function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** @param {string} text */
function withoutMinusZero(text) {
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
}

/** Sets groups of three digits apart, before the point alone. @param {string} text */
function grouped(text) {
  const [whole, fraction] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, GAP);
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

/** `factor` times ten to a power, as exactly as a decimal literal. @param {number} factor @param {number} power */
function scaled(factor, power) {
  return Number(`${factor}e${power}`);
}

/** A multiple of a step without the dust of binary fractions. @param {number} count @param {number} step */
function multiple(count, step) {
  const [digits, power] = step.toExponential().split("e");
  return count ? Number(`${count * Number(digits)}e${power}`) : 0;
}

/** @param {number} decimals */
function clamp(decimals) {
  return Math.max(0, Math.min(decimals, MAX_DIGITS));
}

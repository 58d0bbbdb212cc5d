// Axes of uPlot's charts: round values, as many digits as tell them apart, and room for the longest of them.
// @ts-check
import { logTicks, number, roundStep, tickTexts, ticksBy } from "./numbers.js";
import { colour } from "./palette.js";

const SPACE = { across: 72, up: 34 }; // pixels from one value to the next
const MAX_DRAWN = 1e14; // uPlot draws no axis of larger numbers

/**
 * An axis across, from left to right.
 * @param {{label?: string, whole?: boolean, small?: boolean}} [choices] whole: values are counts
 * @returns {uPlot.Axis}
 */
export function across({ label, whole = false, small = false } = {}) {
  return {
    ...look(small),
    ...(label ? { label, labelSize: 18 } : {}),
    ...(small ? { size: 26, gap: 2 } : {}),
    space: SPACE.across,
    splits: (chart, _, low, high) => {
      const step = stepOf(chart.bbox.width, SPACE.across, high - low);
      return ticksBy(low, high, whole ? Math.max(1, step) : step);
    },
    values: (_, values) => tickTexts(values),
  };
}

/**
 * An axis upwards, as wide as its longest value.
 * @param {{unit?: () => number, log?: boolean, small?: boolean}} [choices] unit: of what is drawn, in real values
 * @returns {uPlot.Axis}
 */
export function upwards({ unit = () => 1, log = false, small = false } = {}) {
  return {
    ...look(small),
    ...(small ? { gap: 2 } : {}),
    space: SPACE.up,
    filter: (_, values) => values,
    splits: (chart, _, low, high) => {
      const room = Math.max(1, Math.floor(chart.bbox.height / devicePixelRatio / SPACE.up));
      return log ? logTicks(low, high, room) : ticksBy(low, high, roundStep((high - low) / room));
    },
    values: (_, values) => {
      const real = values.map((value) => value * unit());
      return log ? real.map((value) => number(value)) : tickTexts(real);
    },
    size: (chart, values, which, cycle) => {
      const axis = /** @type {any} */ (chart.axes[which]);
      return cycle > 1 ? axis._size : widest(chart, values, axis);
    },
  };
}

/** What values are divided by so that uPlot can draw their axis. @param {readonly (number | null)[]} values */
export function unitOf(values) {
  const largest = values.reduce((/** @type {number} */ size, value) => Math.max(size, Math.abs(value ?? 0)), 0);
  return largest > MAX_DRAWN ? 10 ** Math.floor(Math.log10(largest)) : 1;
}

/** @param {boolean} small */
function look(small) {
  return {
    stroke: colour("soft"),
    grid: { stroke: colour("sunk"), width: 1 },
    ticks: { stroke: colour("line"), size: small ? 4 : 10 },
    font: `${small ? 11 : 12}px system-ui`,
    incrs: () => [Infinity], // any will do: `splits` finds its own
  };
}

/** @param {number} pixels @param {number} space @param {number} span */
function stepOf(pixels, space, span) {
  return roundStep(span / Math.max(1, Math.floor(pixels / devicePixelRatio / space)));
}

/** @param {uPlot} chart @param {(string | number | null)[] | null} texts @param {any} axis */
function widest(chart, texts, axis) {
  const longest = (texts ?? []).map(String).reduce((one, other) => (other.length > one.length ? other : one), "");
  chart.ctx.font = axis.font[0];
  return Math.ceil(axis.ticks.size + axis.gap + chart.ctx.measureText(longest).width / devicePixelRatio + 4);
}

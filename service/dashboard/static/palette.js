// Colours and marks of charts: from the theme, and for islands from a palette that colour-blind people can tell apart.
// @ts-check

// Okabe and Ito, "Color Universal Design" (2008), without black and yellow; the second set is for dark ground.
const LIGHT = ["#0072b2", "#d55e00", "#00795c", "#b04a86", "#8a6100", "#2d7fb8", "#5b5b5b", "#7a3fb0"];
const DARK = ["#56b4e9", "#ff9b57", "#2ad0a5", "#e79bc6", "#e6b84a", "#9ad0f5", "#b8b8b8", "#c3a1f0"];
// From the least fit to the fittest: one hue, and light against dark, so that grey shows it as well.
const FAINT_TO_STRONG = [
  [226, 240, 234],
  [0, 74, 56],
];
const FAINT_TO_STRONG_ON_DARK = [
  [36, 56, 49],
  [150, 245, 205],
];
const SHAPES = /** @type {const} */ (["circle", "square", "triangle", "diamond", "wedge", "ring"]);

/** The mark of what failed: no island has it, whatever its colour. */
export const FAILURE = "cross";

/** Whether the page is dark now. */
export function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @param {number} island */
export function islandColour(island) {
  const colours = dark() ? DARK : LIGHT;
  return colours[island % colours.length];
}

/** @param {number} island */
export function islandShape(island) {
  return SHAPES[island % SHAPES.length];
}

/** The tint of a share from 0 to 1. @param {number} share */
export function tint(share) {
  const [from, to] = dark() ? FAINT_TO_STRONG_ON_DARK : FAINT_TO_STRONG;
  return `rgb(${from.map((part, one) => Math.round(part + share * (to[one] - part))).join(" ")})`;
}

/** All tints side by side, for a legend. */
export function tints() {
  const bar = document.createElement("canvas");
  const pen = bar.getContext("2d");
  bar.width = 160;
  bar.height = 12;
  bar.setAttribute("aria-hidden", "true");
  for (let at = 0; pen && at < 160; at += 1) {
    pen.fillStyle = tint(at / 159);
    pen.fillRect(at, 0, 1, 12);
  }
  return bar;
}

/** A colour of the theme by its name, such as `ink`. @param {string} name */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls back whenever the theme is another. @param {() => void} redraw */
export function onTheme(redraw) {
  document.addEventListener("evolve:theme", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

/**
 * Draws a mark.
 * @param {CanvasRenderingContext2D} pen @param {string} shape @param {number} x @param {number} y @param {number} size
 */
export function mark(pen, shape, x, y, size) {
  pen.beginPath();
  switch (shape) {
    case "square":
      pen.rect(x - size, y - size, 2 * size, 2 * size);
      pen.fill();
      break;
    case "triangle":
      pen.moveTo(x, y - 1.2 * size);
      pen.lineTo(x + 1.1 * size, y + size);
      pen.lineTo(x - 1.1 * size, y + size);
      pen.fill();
      break;
    case "diamond":
      pen.moveTo(x, y - 1.3 * size);
      pen.lineTo(x + 1.3 * size, y);
      pen.lineTo(x, y + 1.3 * size);
      pen.lineTo(x - 1.3 * size, y);
      pen.fill();
      break;
    case "cross":
      pen.moveTo(x - size, y - size);
      pen.lineTo(x + size, y + size);
      pen.moveTo(x + size, y - size);
      pen.lineTo(x - size, y + size);
      pen.stroke();
      break;
    case "wedge":
      pen.moveTo(x, y + 1.2 * size);
      pen.lineTo(x + 1.1 * size, y - size);
      pen.lineTo(x - 1.1 * size, y - size);
      pen.fill();
      break;
    case "ring":
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.stroke();
      break;
    default:
      pen.arc(x, y, size, 0, 2 * Math.PI);
      pen.fill();
  }
}

/**
 * The ring around what is inspected.
 * @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} size
 */
export function ring(pen, x, y, size) {
  pen.strokeStyle = colour("accent");
  pen.lineWidth = size / 3;
  pen.beginPath();
  pen.arc(x, y, size, 0, 2 * Math.PI);
  pen.stroke();
}

/** An entry of a legend with its mark drawn. @param {string} shape @param {string} fill @param {string} words */
export function entry(shape, fill, words) {
  const made = document.createElement("li");
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  canvas.width = canvas.height = 12;
  canvas.setAttribute("aria-hidden", "true");
  if (pen) {
    pen.fillStyle = pen.strokeStyle = fill;
    pen.lineWidth = 1.5;
    mark(pen, shape, 6, 6, 4);
  }
  made.append(canvas, ` ${words}`);
  return made;
}

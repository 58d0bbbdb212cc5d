// How a line of a chart is drawn, for its legend: by colour and by dashes.
// @ts-check

const SPACE = "http://www.w3.org/2000/svg";

/** @param {string} paint @param {readonly number[]} dash @param {number} width */
export function lineSample(paint, dash, width = 2) {
  const picture = document.createElementNS(SPACE, "svg");
  const line = document.createElementNS(SPACE, "line");
  set(picture, { width: 34, height: 10, "aria-hidden": "true" });
  set(line, { x1: 1, x2: 33, y1: 5, y2: 5, stroke: paint, "stroke-width": width, "stroke-dasharray": dash.join(" ") });
  picture.append(line);
  return picture;
}

/** @param {Element} element @param {Record<string, string | number>} attributes */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

// <candidate-tree data-rows data-here>: the family of a candidate from left to right, read from the table beside it.
// Its links are out of the way of the keyboard: the table has them all.
// @ts-check
import { nameOfId } from "./candidate-name.js";
import { islandColour, islandShape, onTheme, mark } from "./palette.js";
import { scoreWord } from "./score.js";

const SPACE = "http://www.w3.org/2000/svg";
const ROOT = "*";
const STEP = 96;
const ROW = 24;
const EDGE = 24;
const LABEL = 90;
const SIZE = 6;

/** @typedef {{id: string, first: string, others: string[], island: number, fitness: string}} Row */

class CandidateTree extends HTMLElement {
  connectedCallback() {
    this.classList.add("tree");
    this.tabIndex = 0;
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Family tree");
    onTheme(() => this.draw());
    this.draw();
    const here = this.querySelector("[data-here]");
    if (!(here instanceof SVGElement)) return;
    this.scrollLeft = Number(here.getAttribute("cx")) - this.clientWidth / 2;
    this.scrollTop = Number(here.getAttribute("cy")) - this.clientHeight / 2;
  }

  /** @returns {Row[]} */
  rows() {
    const body = document.getElementById(this.dataset.rows ?? "");
    return [...(body?.querySelectorAll("tbody tr") ?? [])]
      .filter((row) => row instanceof HTMLElement)
      .map((row) => ({
        id: row.dataset.id ?? "",
        first: row.dataset.first ?? "",
        others: (row.dataset.others ?? "").split(" ").filter(Boolean),
        island: Number(row.dataset.island),
        fitness: row.dataset.fitness ?? "",
      }));
  }

  draw() {
    const rows = this.rows();
    const kept = [this.scrollLeft, this.scrollTop];
    // A root of its own holds the lines together that have none in common; it is not drawn.
    const { stratify, tree } = d3;
    /** @type {d3.StratifyOperator<Row>} */
    const family = stratify();
    family.id((row) => row.id).parentId((row) => (row.id === ROOT ? null : row.first || ROOT));
    /** @type {d3.TreeLayout<Row>} */
    const layout = tree();
    layout.nodeSize([ROW, STEP]).separation(() => 1);
    const root = layout(family([{ id: ROOT, first: "", others: [], island: 0, fitness: "" }, ...rows]));
    const nodes = root.descendants().slice(1);
    const low = Math.min(...nodes.map((node) => node.x));
    const high = Math.max(...nodes.map((node) => node.x));
    const deep = Math.max(...nodes.map((node) => node.depth));
    /** @type {Map<string, {x: number, y: number, row: Row}>} */
    const places = new Map(
      nodes.map((node) => [
        node.data.id,
        { x: EDGE + (node.depth - 1) * STEP, y: EDGE + node.x - low, row: node.data },
      ]),
    );
    const picture = make("svg", {
      width: (deep - 1) * STEP + 2 * EDGE + LABEL,
      height: high - low + 2 * EDGE,
      "aria-hidden": "true",
    });
    for (const place of places.values()) {
      if (place.row.first) this.edge(picture, places, place, place.row.first, "edge");
      for (const other of place.row.others) this.edge(picture, places, place, other, "edge other");
    }
    for (const place of places.values()) this.node(picture, place);
    this.replaceChildren(picture);
    [this.scrollLeft, this.scrollTop] = kept;
    this.list([...new Set(rows.map((row) => row.island))].sort((a, b) => a - b));
    this.dataset.shown = String(places.size);
  }

  /** Says which mark is which island. @param {number[]} islands */
  list(islands) {
    this.legend?.remove();
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.legend.append(
      ...islands.map((island) => {
        const item = document.createElement("li");
        const picture = make("svg", { width: 16, height: 14, "aria-hidden": "true" });
        picture.append(shape(island, 8, 7));
        item.append(picture, ` island ${island}`);
        return item;
      }),
    );
    this.after(this.legend);
  }

  /**
   * @param {Element} picture
   * @param {Map<string, {x: number, y: number, row: Row}>} places
   * @param {{x: number, y: number, row: Row}} to
   * @param {string} from
   * @param {string} kind
   */
  edge(picture, places, to, from, kind) {
    const begin = places.get(from);
    if (!begin) return;
    const half = (begin.x + to.x) / 2;
    const d = `M${begin.x},${begin.y}C${half},${begin.y} ${half},${to.y} ${to.x},${to.y}`;
    const link = make("a", { href: `/candidates/${to.row.id}?against=${from}#diff`, tabindex: "-1" });
    link.append(
      titled(`Diff of ${nameOfId(to.row.id)} against ${nameOfId(from)}`),
      make("path", { class: kind, d }),
      make("path", { class: "reach", d }),
    );
    picture.append(link);
  }

  /** @param {Element} picture @param {{x: number, y: number, row: Row}} place */
  node(picture, place) {
    const { x, y, row } = place;
    const link = make("a", { href: `/candidates/${row.id}`, tabindex: "-1" });
    const label = make("text", { x: x + 11, y: y - 4 });
    label.textContent = row.fitness;
    link.append(
      titled(`${nameOfId(row.id)}, island ${row.island}, ${scoreWord()} ${row.fitness}`),
      shape(row.island, x, y),
      label,
    );
    if (row.id === this.dataset.here)
      link.append(make("circle", { class: "here", cx: x, cy: y, r: SIZE + 5, "data-here": "" }));
    picture.append(link);
  }
}

/** What `mark` draws, as the path of an SVG: the marks of canvas and tree are the same. */
class Outline {
  d = "";
  open = false;
  beginPath() {
    this.d = "";
  }
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.d += `M${x},${y}`;
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.d += `L${x},${y}`;
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  rect(x, y, width, height) {
    this.d += `M${x},${y}h${width}v${height}h${-width}z`;
  }
  /** @param {number} x @param {number} y @param {number} radius */
  arc(x, y, radius) {
    const half = `a${radius},${radius} 0 1 0`;
    this.d += `M${x - radius},${y}${half} ${2 * radius},0${half} ${-2 * radius},0`;
  }
  fill() {
    this.d += "z";
  }
  stroke() {
    this.open = true;
  }
}

/** The mark of an island. @param {number} island @param {number} x @param {number} y */
function shape(island, x, y) {
  const path = new Outline();
  const fill = islandColour(island);
  mark(/** @type {any} */ (path), islandShape(island), x, y, SIZE);
  return make("path", { class: "node", d: path.d, fill: path.open ? "none" : fill, stroke: fill, "stroke-width": 2 });
}

/** @param {string} name @param {Record<string, string | number>} attributes */
function make(name, attributes) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** @param {string} words */
function titled(words) {
  const title = make("title", {});
  title.textContent = words;
  return title;
}

customElements.define("candidate-tree", CandidateTree);

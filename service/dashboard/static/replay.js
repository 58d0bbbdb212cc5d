// A replay of a run in a chart: a slider over its evaluations, play and pause, and the picture of the best of then.
// The address keeps the moment. Where people want no motion, playing goes from one new best to the next.
// @ts-check
import { chosen, keep } from "./address.js";

const FRAMES = 240; // of a whole replay
const STILL_FRAMES = 20; // where no motion is wanted, and new bests are not known
const FRAME_MILLISECONDS = 60;
const STEP_MILLISECONDS = 1000;

/**
 * @typedef {object} ReplayActions
 * @property {() => void} show draws the chart as it was then
 * @property {(until: number) => string} best the name of the best after so many evaluations; empty: there is none
 * @property {() => number[]} stops how many evaluations there were at each new best, where that is known
 * @property {string} run
 */

/**
 * How many evaluations are shown after so many of them.
 * @param {number} until
 * @param {number} total
 * @param {number[]} stops
 * @param {boolean} still from stop to stop
 */
export function nextMoment(until, total, stops, still) {
  const frames = still ? STILL_FRAMES : FRAMES;
  if (still && stops.length) return stops.find((stop) => stop > until) ?? total;
  return Math.min(total, until + Math.max(1, Math.round(total / frames)));
}

export class Replay {
  /** @param {HTMLElement} host @param {ReplayActions} actions */
  constructor(host, actions) {
    this.actions = actions;
    this.total = 0;
    this.timer = 0;
    /** @type {Map<string, Promise<string>>} */
    this.pictures = new Map();
    this.pictured = "";
    const box = document.createElement("div");
    const label = document.createElement("label");
    box.className = "until";
    box.hidden = true; // until the chart above it has its height
    this.box = box;
    this.slider = document.createElement("input");
    this.slider.type = "range";
    this.slider.id = label.htmlFor = "until";
    this.slider.min = this.slider.max = this.slider.value = "1";
    label.textContent = "Up to evaluation";
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "quiet";
    this.button.textContent = "Play";
    this.told = document.createElement("output");
    this.told.htmlFor.add("until");
    this.picture = document.createElement("div");
    this.picture.className = "replay-best";
    box.append(label, this.slider, this.button, this.told);
    host.append(box, this.picture);
    this.slider.addEventListener("input", () => {
      this.pause();
      this.moved();
    });
    this.slider.addEventListener("change", () => this.write());
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
  }

  /** So many evaluations are shown. */
  get until() {
    return Number(this.slider.value);
  }

  /** Whether all of them are. */
  get atEnd() {
    return this.slider.value === this.slider.max;
  }

  /** Takes in how many there are; who looks at an earlier moment goes on looking at it. @param {number} total */
  take(total) {
    const first = !this.total;
    const follow = (first || this.atEnd) && !this.timer;
    this.total = total;
    this.box.hidden = false;
    this.slider.max = String(Math.max(1, total));
    if (follow) this.slider.value = (first && chosen("until")) || this.slider.max;
    if (first && !this.atEnd) void this.depict();
  }

  /** Says what is seen. @param {string} words */
  tell(words) {
    if (this.told.textContent !== words) this.told.textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
  }

  play() {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const stops = this.actions.stops();
    if (this.atEnd) this.slider.value = this.slider.min;
    this.button.textContent = "Pause";
    this.timer = window.setInterval(
      () => {
        this.slider.value = String(nextMoment(this.until, this.total, stops, still));
        this.moved();
        if (this.atEnd) this.pause();
      },
      still ? STEP_MILLISECONDS : FRAME_MILLISECONDS,
    );
    this.moved();
  }

  pause() {
    if (!this.timer) return;
    window.clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = "Play";
    this.write();
  }

  moved() {
    this.actions.show();
    void this.depict();
  }

  write() {
    keep({ until: this.atEnd ? "" : this.slider.value });
  }

  /** Shows the picture of the best of then; the last one stays until it is there. */
  async depict() {
    const name = this.atEnd && !this.timer ? "" : this.actions.best(this.until);
    if (this.pictured === name) return;
    this.pictured = name;
    const text = name ? await this.fetched(name) : "";
    if (this.pictured !== name) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    this.picture.replaceChildren(...page.body.childNodes);
    if (!this.picture.querySelector(".undrawn")) return;
    this.pictures.delete(name); // it is being drawn, and is there when somebody comes back
    globalThis.htmx?.process(this.picture);
  }

  /** @param {string} name @returns {Promise<string>} */
  fetched(name) {
    const held = this.pictures.get(name);
    if (held) return held;
    const headers = { Accept: "text/html", "HX-Request": "true" };
    const made = fetch(`/candidates/${this.actions.run}.${name}/picture`, { headers })
      .then((answer) => (answer.ok ? answer.text() : ""))
      .catch(() => ""); // without its picture the chart shows the moment all the same
    this.pictures.set(name, made);
    return made;
  }
}

// <weight-picker data-src data-run>: the best candidate under weights, computed as GET /v1/runs/ID/best documents it.
// @ts-check
import { storeOf } from "./columns.js";
import { keep } from "./address.js";
import { nameOf } from "./candidate-name.js";
import { addressOf, objectivesOfPage, scoreOf, valid } from "./objectives.js";
import { number } from "./numbers.js";

const MOST = 1e100;
const STEPS = 100;
const ASK_MILLISECONDS = 150;
const EQUAL = 1e-6; // means no further apart are equal, as the API has it

/** @typedef {import("./columns.js").Columns} Columns */
/** @typedef {import("./objectives.js").Objective} Objective */

/**
 * The worst and the best of each objective: declared bounds, else what the run saw.
 * @param {Columns} columns
 * @param {Objective[]} objectives
 * @param {number[]} places
 */
export function spans(columns, objectives, places) {
  return objectives.map((objective, which) => {
    if (objective.low !== null) return [0, 1];
    const seen = /** @type {number[]} */ (places.map((at) => columns.rewards[which][at]));
    return [seen.reduce((a, b) => Math.min(a, b), Infinity), seen.reduce((a, b) => Math.max(a, b), -Infinity)];
  });
}

/**
 * The highest weighted mean of normalised scores; of equals the oldest.
 * @param {Columns} columns @param {Objective[]} objectives @param {number[]} weights
 */
export function bestUnder(columns, objectives, weights) {
  const places = columns.place.map((_, at) => at).filter((at) => valid(columns, at));
  const ranges = spans(columns, objectives, places);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const values = places.map((at) => {
    let value = 0;
    weights.forEach((weight, which) => {
      const [low, high] = ranges[which];
      const reward = /** @type {number} */ (columns.rewards[which][at]);
      const share = high === low ? 1 : (reward - low) / (high - low);
      value += (weight / total) * Math.min(1, Math.max(0, share));
    });
    return value;
  });
  const least = values.reduce((a, b) => Math.max(a, b), -Infinity) - EQUAL;
  const equals = places.map((at, place) => ({ at, value: values[place] })).filter((one) => one.value >= least);
  equals.sort(
    (one, other) =>
      columns.proposal_number[one.at] - columns.proposal_number[other.at] ||
      columns.position[one.at] - columns.position[other.at],
  );
  return equals[0] ?? { at: -1, value: NaN };
}

class WeightPicker extends HTMLElement {
  connectedCallback() {
    this.objectives = objectivesOfPage();
    this.store = storeOf(this.dataset.src ?? "");
    this.fields = this.objectives.map(
      (_, which) => /** @type {HTMLInputElement} */ (this.querySelector(`[name="w${which}"]`)),
    );
    this.sliders = this.fields.map((field, which) => this.addSlider(field, which));
    this.status = document.createElement("p");
    this.status.setAttribute("role", "status");
    this.status.className = "note";
    this.querySelector(".weights")?.after(this.status);
    this.querySelector(".weights")?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.keep();
    });
    this.store.addEventListener("change", () => this.weigh());
    if (this.store.columns) this.weigh();
  }

  /** @param {HTMLInputElement} field @param {number} which */
  addSlider(field, which) {
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = "0";
    slider.step = "any";
    slider.setAttribute("aria-label", `Weight of ${(this.objectives ?? [])[which].name}`);
    this.place(slider, field);
    slider.addEventListener("input", () => {
      field.value = String(Number(Number(slider.value).toPrecision(3)));
      this.weigh();
    });
    slider.addEventListener("change", () => this.keep());
    field.addEventListener("input", () => {
      this.place(slider, field);
      this.weigh();
    });
    field.addEventListener("change", () => this.keep());
    field.before(slider);
    return slider;
  }

  /**
   * Moves a slider to what its field says; it reaches to what is in the field, at least.
   * @param {HTMLInputElement} slider
   * @param {HTMLInputElement} field
   */
  place(slider, field) {
    const value = Number(field.value);
    const most = Math.max(1, 2 * (Number(field.dataset.declared) || 0));
    slider.max = String(value > most && value <= MOST ? value : most);
    slider.step = String(Number(slider.max) / STEPS);
    slider.value = String(value);
  }

  /** The weights of the fields; null: one of them is none, or all are 0. */
  weights() {
    const weights = (this.fields ?? []).map((field) => (field.value.trim() === "" ? NaN : Number(field.value)));
    weights.forEach((weight, which) => {
      if (weight >= 0 && weight <= MOST) (this.fields ?? [])[which].removeAttribute("aria-invalid");
      else (this.fields ?? [])[which].setAttribute("aria-invalid", "true");
    });
    return weights.every((weight) => weight >= 0 && weight <= MOST) && weights.some((weight) => weight > 0)
      ? weights
      : null;
  }

  keep() {
    if (this.weights())
      keep(Object.fromEntries((this.fields ?? []).map((field, which) => [`w${which}`, field.value.trim()])));
  }

  weigh() {
    const columns = this.store?.columns;
    const weights = this.weights();
    for (const found of this.querySelectorAll(".complaint")) found.remove();
    if (this.status)
      this.status.textContent = weights ? "" : "Write numbers from 0 on, and at least one above 0: 1, or 2.5.";
    if (!columns || !weights) return;
    window.clearTimeout(this.asked);
    if (columns.sampled) this.asked = window.setTimeout(() => void this.ask(columns, weights), ASK_MILLISECONDS);
    else this.choose(columns, weights);
  }

  /** The best of those that are drawn. @param {Columns} columns @param {number[]} weights */
  choose(columns, weights) {
    const { at, value } = bestUnder(columns, this.objectives ?? [], weights);
    if (at < 0) return;
    const scores = (this.objectives ?? []).map((objective, which) =>
      scoreOf(objective, /** @type {number} */ (columns.rewards[which][at])),
    );
    this.show({
      number: columns.proposal_number[at],
      position: columns.position[at],
      values: [value, ...scores, columns.fitness[at]],
    });
    document.dispatchEvent(new CustomEvent("evolve:weights", { detail: { weights, at } }));
  }

  /**
   * Asks the service, which knows the candidates that are not drawn.
   * @param {Columns} columns
   * @param {number[]} weights
   */
  async ask(columns, weights) {
    const objectives = /** @type {Objective[]} */ (this.objectives);
    const asked = new URL(`/v1/runs/${this.dataset.run}/best`, location.href);
    asked.searchParams.set("weights", objectives.map(({ name }, which) => `${name}=${weights[which]}`).join(","));
    const answer = await fetch(asked, { headers: { Accept: "application/json" } });
    if (!answer.ok) {
      this.choose(columns, weights);
      if (this.status) this.status.textContent = "This is the best of the candidates that are drawn.";
      return;
    }
    const { candidate, value } = await answer.json();
    const { proposal_number: proposal, position, scores, fitness } = candidate;
    if (this.weights()?.some((weight, which) => weight !== weights[which])) return; // another answer is under way
    this.show({
      number: proposal,
      position,
      values: [value, ...objectives.map(({ name }) => scores[name]), fitness],
    });
    const at = columns.place.findIndex(
      (_, one) => columns.proposal_number[one] === proposal && columns.position[one] === position,
    );
    document.dispatchEvent(new CustomEvent("evolve:weights", { detail: { weights, at } }));
  }

  /** @param {{number: number, position: number, values: (number | null)[]}} best */
  show({ number: proposal, position, values }) {
    const row = this.winner();
    const link = document.createElement("a");
    const place = { proposal_number: [proposal], position: [position] };
    link.href = addressOf(this.dataset.run ?? "", place, 0);
    link.textContent = nameOf(place, 0);
    const cells = [link, ...values.map((value) => number(value))].map((content, place) => {
      const cell = document.createElement("td");
      if (place) cell.className = "num";
      cell.append(content);
      return cell;
    });
    row.replaceChildren(row.cells[0], ...cells);
    this.dataset.winner = `${proposal}/${position}`;
    const fittest = this.querySelector("[data-fittest] a")?.textContent;
    if (this.status)
      this.status.textContent =
        fittest === link.textContent ? "The fittest candidate of the run is the best under these weights, too." : "";
  }

  /** The row of the best, made where the page came without. */
  winner() {
    const found = this.querySelector("[data-winner]");
    if (found instanceof HTMLTableRowElement) return found;
    const row = /** @type {HTMLTableSectionElement} */ (this.querySelector("tbody")).insertRow(0);
    const head = document.createElement("th");
    row.dataset.winner = "";
    head.scope = "row";
    head.textContent = "Best under these weights";
    row.append(head);
    return row;
  }
}

customElements.define("weight-picker", WeightPicker);

// What is typed into a form is kept in this tab: a session that ends, or a page that is left by mistake, loses nothing.
// @ts-check
import { clock } from "./local-time.js";

const PAUSE_MILLISECONDS = 300;
const form = /** @type {HTMLFormElement} */ (document.querySelector("#submit"));
const said = /** @type {HTMLElement} */ (document.querySelector("[data-draft-said]"));
const place = `evolve-draft:${form.dataset.draft}`;
/** Fields that are no part of a draft: a token, and files themselves. */
const left = new Set(["csrf", ""]);

/** @typedef {{at: number, sent: boolean, fields: [string, string][]}} Draft */

/** @returns {Draft | null} */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? "null");
  } catch {
    return null;
  }
}

/** @returns {[string, string][]} */
function fields() {
  return [...new FormData(form)]
    .filter(([name, value]) => !left.has(name) && typeof value === "string")
    .map(([name, value]) => [name, String(value)]);
}

/** @param {boolean} sent */
function keep(sent) {
  try {
    sessionStorage.setItem(place, JSON.stringify({ at: Date.now(), sent, fields: fields() }));
  } catch {
    said.hidden = false;
    said.textContent = "This form is too large to keep as a draft.";
  }
}

/**
 * Rows and files of a draft, of which there may be more than the page has.
 * @param {string} list
 * @param {number} wanted
 */
function grow(list, wanted) {
  const button = /** @type {HTMLButtonElement | null} */ (form.querySelector(`[data-more=${list}]`));
  const held = form.querySelector(`[data-${list}]`);
  while (button && held && held.children.length < wanted) button.click();
}

/** @param {Draft} draft */
function restore(draft) {
  const count = (/** @type {string} */ name) => draft.fields.filter(([known]) => known === name).length;
  grow("objectives", count("objective_name"));
  grow("files", count("file_name"));
  const values = Map.groupBy(draft.fields, ([name]) => name);
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("input, select, textarea"))) {
    const waiting = values.get(field.name);
    if (!waiting) continue;
    if (field.type === "radio") field.checked = field.value === waiting[0][1];
    else if (waiting.length) field.value = /** @type {[string, string]} */ (waiting.shift())[1];
  }
}

/** @param {Draft} draft */
function tell(draft) {
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Start over";
  again.addEventListener("click", () => {
    sessionStorage.removeItem(place);
    location.assign(form.dataset.draft ?? "");
  });
  said.replaceChildren(`This is what you typed at ${clock(draft.at)}. `, again);
  said.hidden = false;
}

/** Whether the page before this one asked who is there, or was this one. */
function interrupted() {
  try {
    return ["/sign-in", location.pathname].includes(new URL(document.referrer).pathname);
  } catch {
    return false;
  }
}

const draft = read();
if ("answered" in form.dataset)
  keep(false); // the service gave back what was typed, with what is wrong
else if (draft && (!draft.sent || interrupted())) {
  restore(draft);
  tell(draft);
  form.dispatchEvent(new CustomEvent("evolve:typed", { bubbles: true }));
} else if (draft) sessionStorage.removeItem(place); // it became a run

let timer = 0;
const later = () => {
  clearTimeout(timer);
  timer = window.setTimeout(() => keep(false), PAUSE_MILLISECONDS);
};
form.addEventListener("input", later);
form.addEventListener("evolve:typed", later);
form.addEventListener("submit", () => {
  clearTimeout(timer);
  keep(true);
});

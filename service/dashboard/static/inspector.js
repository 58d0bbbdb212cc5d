// <candidate-inspector>: a candidate beside the chart that it was chosen in. The service writes what it shows, as text
// and in frames without rights. On a phone it is a sheet at the foot. The address keeps whose it is.
// @ts-check
import { chosen, keep } from "./address.js";

/** @typedef {import("./inspect.js").Inspection} Inspection */

class CandidateInspector extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "dialog");
    this.setAttribute("aria-labelledby", "inspector-title");
    this.heading = document.createElement("h2");
    this.heading.id = "inspector-title";
    this.heading.tabIndex = -1;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet";
    close.textContent = "Close";
    close.addEventListener("click", () => this.close());
    const head = document.createElement("div");
    head.className = "inspector-head";
    head.append(this.heading, close);
    this.body = document.createElement("div");
    this.body.className = "inspector-body";
    this.body.setAttribute("aria-live", "polite");
    this.append(head, this.body);
    // Before the chart hears it: Escape closes what was opened last.
    this.keys = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !this.hasAttribute("open") || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      event.stopPropagation();
      this.close();
    };
    document.addEventListener("keydown", this.keys, { capture: true });
  }

  disconnectedCallback() {
    if (this.keys) document.removeEventListener("keydown", this.keys, { capture: true });
  }

  /** @param {Inspection} wanted */
  show(wanted) {
    const { run, name, origin, keyboard, share } = wanted;
    this.origin = origin;
    this.dataset.name = name;
    if (share !== null) this.dataset.side = share > 0.5 ? "left" : "right";
    this.setAttribute("open", "");
    if (this.heading) this.heading.textContent = `Candidate ${name}`;
    if (keyboard) this.heading?.focus({ preventScroll: true });
    keep({ inspect: name });
    document.dispatchEvent(new Event("evolve:inspected"));
    void this.fill(`/candidates/${run}.${name}/inspect`);
  }

  /** Fetches what the panel shows; what was asked for before is of no use any more. @param {string} address */
  async fill(address) {
    const { body } = this;
    if (!body) return;
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    body.setAttribute("aria-busy", "true");
    try {
      const headers = { Accept: "text/html", "HX-Request": "true" };
      const answer = await fetch(address, { headers, signal: asked.signal });
      const away = answer.headers.get("HX-Redirect");
      if (away) location.assign(away);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      body.replaceChildren(...page.body.childNodes);
      globalThis.htmx?.process(body); // what is drawn on demand asks for it
      body.scrollTop = 0;
    } catch (error) {
      if (asked.signal.aborted) return;
      this.complain(address, error instanceof Error ? error.message : String(error));
    }
    body.removeAttribute("aria-busy");
  }

  /** @param {string} address @param {string} reason */
  complain(address, reason) {
    const words = document.createElement("p");
    const button = document.createElement("button");
    words.className = "complaint";
    words.textContent = `This candidate cannot be shown (${reason}). `;
    button.type = "button";
    button.textContent = "Try again";
    button.addEventListener("click", () => void this.fill(address));
    words.append(button);
    this.body?.replaceChildren(words);
  }

  /** The keyboard goes back to the chart if it was in the panel. */
  close() {
    const inside = this.contains(document.activeElement);
    this.asked?.abort();
    this.removeAttribute("open");
    this.body?.replaceChildren();
    this.dataset.name = "";
    keep({ inspect: "" });
    if (inside) this.origin?.focus({ preventScroll: true });
    document.dispatchEvent(new Event("evolve:inspected"));
  }
}

customElements.define("candidate-inspector", CandidateInspector);

/** The panel of the page, made when it is first needed. */
function panel() {
  const found = document.querySelector("candidate-inspector");
  if (found instanceof CandidateInspector) return found;
  const made = new CandidateInspector();
  document.querySelector("main")?.append(made);
  return made;
}

document.addEventListener("evolve:inspect", (event) => {
  event.preventDefault();
  panel().show(/** @type {CustomEvent<Inspection>} */ (event).detail);
});

const named = chosen("inspect");
const page = document.querySelector("[data-run][data-sequence]");

// Marks that are links, as in pictures of the service.
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-inspect]") : null;
  const other = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button;
  if (!link || other || !(page instanceof HTMLElement)) return;
  event.preventDefault();
  const origin = document.querySelector("main") ?? document.body;
  const run = page.dataset.run ?? "";
  const name = link.getAttribute("data-inspect") ?? "";
  panel().show({ run, name, origin, keyboard: false, share: event.clientX / window.innerWidth });
});

if (/^\d{1,15}\.\d{1,9}$/.test(named) && page instanceof HTMLElement) {
  const origin = document.querySelector("main") ?? document.body;
  panel().show({ run: page.dataset.run ?? "", name: named, origin, keyboard: false, share: null });
}

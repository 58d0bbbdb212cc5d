// The log of a run at work: what happens comes at its end, unless somebody pauses it; nothing that is shown moves.
// @ts-check

const MAX_ROWS = 2000;

class Follower {
  /** @param {HTMLTableElement} table @param {HTMLButtonElement} button */
  constructor(table, button) {
    this.table = table;
    this.button = button;
    this.after = Number(table.dataset.after);
    this.following = true;
    this.busy = false;
    this.sequence = this.after;
    button.hidden = false;
    button.addEventListener("click", () => this.turn());
    document.addEventListener("evolve:news", (event) => {
      this.sequence = Math.max(this.sequence, Number(/** @type {CustomEvent} */ (event).detail.sequence) || 0);
      if (this.following) void this.fetch();
      else this.say();
    });
    this.say();
  }

  turn() {
    this.following = !this.following;
    this.say();
    if (this.following) void this.fetch();
  }

  say() {
    const behind = this.sequence - this.after;
    this.button.setAttribute("aria-pressed", String(this.following));
    this.button.textContent = this.following
      ? "Following: pause"
      : `Paused: follow${behind > 0 ? ` (+${behind} events)` : ""}`;
  }

  async fetch() {
    if (this.busy) return;
    this.busy = true;
    try {
      let more = true;
      while (more && this.following) more = await this.more();
    } catch {
      /* the banner says that the service is away, and news comes when it is back */
    } finally {
      this.busy = false;
      this.say();
    }
  }

  /** Adds what is new; whether there is more yet. */
  async more() {
    const begin = this.after;
    const glue = this.table.dataset.src?.endsWith("?") ? "" : "&";
    const answer = await fetch(`${this.table.dataset.src}${glue}after=${begin}`, { headers: { "HX-Request": "true" } });
    if (!answer.ok) return false;
    const text = await answer.text();
    if (!this.following) return false; // paused meanwhile: it is asked for again
    const page = new DOMParser().parseFromString(text, "text/html");
    const found = page.querySelector("table");
    const body = this.table.tBodies[0];
    if (!found || !body) return false;
    const rows = [...found.tBodies[0].rows].map((row) => document.adoptNode(row));
    body.append(...rows);
    if (rows.length) document.querySelector("[data-events-empty]")?.remove();
    this.after = Math.max(begin, Number(found.dataset.after));
    if (body.rows.length > MAX_ROWS) {
      this.leave();
      return false;
    }
    return "more" in found.dataset && this.after > begin;
  }

  /** A page has room for so many; the next page goes on. */
  leave() {
    this.following = false;
    const next = document.createElement("a");
    const line = document.createElement("p");
    const place = new URL(location.href);
    place.searchParams.set("after", String(this.after));
    next.href = place.href;
    next.textContent = "Continue on a new page";
    line.className = "paging";
    line.append(next);
    this.table.parentElement?.after(line);
    this.button.remove();
  }
}

const table = document.getElementById("events");
const button = document.querySelector("[data-follow]");
if (table instanceof HTMLTableElement && button instanceof HTMLButtonElement) new Follower(table, button);

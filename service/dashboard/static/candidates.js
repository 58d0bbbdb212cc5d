// <news-count data-src data-count data-href>: says how many candidates came since the page was made. Rows stay where
// they are.
// @ts-check

const PATIENCE_MILLISECONDS = 1500;

class NewsCount extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.timer = 0;
    this.listen = () => {
      this.timer ||= window.setTimeout(() => void this.count(), PATIENCE_MILLISECONDS);
    };
    document.addEventListener("evolve:news", this.listen);
  }

  disconnectedCallback() {
    if (this.listen) document.removeEventListener("evolve:news", this.listen);
    window.clearTimeout(this.timer);
  }

  async count() {
    try {
      const answer = await fetch(this.dataset.src ?? "", { headers: { Accept: "application/json" } });
      if (answer.ok) this.show((await answer.json()).count - Number(this.dataset.count));
    } catch {
      /* the next news asks again */
    } finally {
      this.timer = 0;
    }
  }

  /** @param {number} more */
  show(more) {
    if (!(more > 0)) return;
    let link = this.querySelector("a");
    if (!link) {
      link = document.createElement("a");
      link.className = "button";
      link.href = this.dataset.href ?? "";
      this.replaceChildren(link);
    }
    link.textContent = `+${more} new`;
  }
}

customElements.define("news-count", NewsCount);

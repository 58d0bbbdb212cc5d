// Keys on a chart: arrows walk from mark to mark, Enter inspects one. The chart says which marks there are, in order.
// @ts-check

/**
 * @template Mark
 * @typedef {object} WalkActions
 * @property {() => Mark[]} order of the marks that keys reach
 * @property {() => Mark | undefined} [first] where a walk begins; without it at the first mark
 * @property {(mark: Mark) => void} show
 * @property {(mark: Mark) => void} open
 * @property {() => void} leave
 */

/** @template Mark */
export class MarkWalk {
  /**
   * @param {HTMLElement} plot
   * @param {string} words what the chart is, for those who hear it
   * @param {WalkActions<Mark>} actions
   */
  constructor(plot, words, actions) {
    this.actions = actions;
    /** @type {Mark | undefined} */
    this.current = undefined;
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-label", `${words}. Arrow keys walk from mark to mark, Enter inspects one.`);
    plot.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key)) event.preventDefault();
    });
    plot.addEventListener("blur", () => actions.leave());
  }

  /** @param {string} key @returns {boolean} whether it means something here */
  press(key) {
    const order = this.actions.order();
    if (!order.length) return false;
    const at = this.current === undefined ? -1 : order.indexOf(this.current);
    const first = this.actions.first?.() ?? order[0];
    if (key === "Enter") {
      this.current = at < 0 ? first : order[at];
      this.actions.open(this.current);
      return true;
    }
    const last = order.length - 1;
    const next = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: last }[key];
    if (next === undefined) return false;
    const begin = at < 0 && key.startsWith("Arrow") ? order.indexOf(first) : next;
    this.current = order[Math.max(0, Math.min(last, begin))];
    this.actions.show(this.current);
    return true;
  }
}

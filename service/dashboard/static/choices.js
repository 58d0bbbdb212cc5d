// Links of a chart that choose what it shows: with a script they do it in place, and the address keeps it.
// @ts-check
import { keep } from "./address.js";

/**
 * Has links with `data-choice` set `data-NAME` of the chart that they stand in.
 * @param {HTMLElement} chart @param {string} name of the choice, in the address too @param {() => void} redraw
 */
export function onChoice(chart, name, redraw) {
  chart.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-choice]") : null;
    if (!(link instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    for (const other of chart.querySelectorAll("a[data-choice]")) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    chart.dataset[name] = link.dataset.choice ?? "";
    keep({ [name]: chart.dataset[name] });
    redraw();
  });
}

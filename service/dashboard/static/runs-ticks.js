// Ticks of the list of runs: all at once, how many there are, and buttons that wait for one.
// @ts-check

const form = document.querySelector("#bulk");

/** @param {HTMLFormElement} bulk */
function follow(bulk) {
  const all = /** @type {HTMLInputElement | null} */ (bulk.querySelector("[data-tick-all]"));
  const boxes = () => [.../** @type {NodeListOf<HTMLInputElement>} */ (bulk.querySelectorAll("input[name=run]"))];
  const show = () => {
    const found = boxes();
    const ticked = found.filter((box) => box.checked).length;
    const words = bulk.querySelector("[data-ticked]");
    if (words) words.textContent = ticked ? `${ticked} ticked:` : "Tick runs to";
    if (all) {
      all.checked = ticked > 0 && ticked === found.length;
      all.indeterminate = ticked > 0 && ticked < found.length;
    }
    for (const button of bulk.querySelectorAll("button")) {
      button.disabled = ticked < Number(button.dataset.least ?? 1) || ticked > Number(button.dataset.most ?? Infinity);
    }
  };
  if (all) {
    all.hidden = false;
    all.addEventListener("change", () => {
      for (const box of boxes()) box.checked = all.checked;
      show();
    });
  }
  bulk.addEventListener("change", show);
  // A page that comes back from the browser's memory keeps its ticks.
  window.addEventListener("pageshow", show);
  show();
}

if (form instanceof HTMLFormElement) follow(form);

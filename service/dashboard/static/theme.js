// The theme, before anything is drawn: what was chosen here, else what the system has.
(() => {
  const order = ["auto", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem("evolve-theme") ?? "auto";
    } catch {
      return "auto";
    }
  };
  const show = (/** @type {string} */ name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  };
  let chosen = order.includes(read()) ? read() : "auto";
  show(chosen);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-switch]");
    const label = document.querySelector("[data-theme-name]");
    if (!(button instanceof HTMLElement) || !label) return;
    button.hidden = false;
    label.textContent = chosen;
    button.addEventListener("click", () => {
      chosen = order[(order.indexOf(chosen) + 1) % order.length];
      try {
        localStorage.setItem("evolve-theme", chosen);
      } catch {
        /* it holds for this page then */
      }
      show(chosen);
      label.textContent = chosen;
      document.dispatchEvent(new CustomEvent("evolve:theme"));
    });
  });
})();

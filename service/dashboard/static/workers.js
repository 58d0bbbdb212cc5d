// The page about workers asks anew every two seconds, while somebody sees it and is not in the middle of something.
// @ts-check

const EVERY = 2000;
let said = standing()?.dataset.said;

function standing() {
  return document.getElementById("workers-standing");
}

/** Whether a key press or a selection would be lost. */
function engaged() {
  const found = standing();
  const selection = getSelection();
  return Boolean(
    found?.querySelector("form :focus") ||
      (selection && !selection.isCollapsed && found?.contains(selection.anchorNode)),
  );
}

setInterval(() => {
  if (!document.hidden && !engaged()) document.dispatchEvent(new CustomEvent("evolve:tick", { bubbles: true }));
}, EVERY);

document.addEventListener("htmx:after:swap", () => {
  const now = standing()?.dataset.said;
  const announcer = document.querySelector("[data-announcer]");
  if (now && now !== said && announcer) announcer.textContent = now;
  said = now;
});

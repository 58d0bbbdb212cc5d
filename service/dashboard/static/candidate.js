// The page of a candidate: its files can be copied, whole and as they are, not as they are shown.
// @ts-check

/** @param {HTMLElement} button */
async function copy(button) {
  const before = button.textContent;
  try {
    const answer = await fetch(button.dataset.copy ?? "");
    if (!answer.ok) throw new Error(`${answer.status}`);
    await navigator.clipboard.writeText(await answer.text());
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied: download it";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 2500);
}

// Browsers open their clipboard to pages of https and of this machine alone.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!(button instanceof HTMLElement)) continue;
    button.hidden = false;
    button.addEventListener("click", () => void copy(button));
  }
}

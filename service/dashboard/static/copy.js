// Buttons that copy the text before them.
// @ts-check

for (const button of document.querySelectorAll("[data-copy]")) {
  const text = button.parentElement?.querySelector("[data-secret]");
  if (!(button instanceof HTMLButtonElement) || !text || !navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.textContent ?? "");
    button.textContent = "Copied";
  });
}

// Charts on canvases may be saved as pictures, on the ground of the theme they are looked at in.
// @ts-check
import { colour } from "./palette.js";

/** Offers it for every chart that has drawn itself. */
export function offerPictures() {
  for (const figure of document.querySelectorAll("figure.chart")) {
    const watch = new MutationObserver(() => {
      if (offer(figure)) watch.disconnect();
    });
    if (!offer(figure)) watch.observe(figure, { childList: true, subtree: true });
  }
}

/** @param {Element} figure */
function offer(figure) {
  const caption = figure.querySelector("figcaption");
  if (!caption || !largest(figure)) return false;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet save-picture";
  button.textContent = "Save picture";
  button.setAttribute("aria-label", `Save picture: ${caption.textContent}`);
  button.addEventListener("click", () => save(figure, (caption.textContent ?? "chart").trim()));
  caption.after(button);
  return true;
}

/** Legends have canvases of their own, which are small. @param {Element} figure */
function largest(figure) {
  const canvases = [...figure.querySelectorAll("canvas")].filter((canvas) => canvas.width > 100);
  return canvases.sort((one, other) => other.width * other.height - one.width * one.height)[0];
}

/** @param {Element} figure @param {string} name */
function save(figure, name) {
  const drawn = largest(figure);
  const copy = document.createElement("canvas");
  const pen = copy.getContext("2d");
  if (!drawn || !pen) return;
  copy.width = drawn.width;
  copy.height = drawn.height;
  pen.fillStyle = colour("ground");
  pen.fillRect(0, 0, copy.width, copy.height);
  pen.drawImage(drawn, 0, 0);
  copy.toBlob((blob) => {
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

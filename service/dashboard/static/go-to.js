// The palette: every page there is, by a few letters of its name, and any run or candidate by its id.
// @ts-check

/**
 * Opens it.
 * @param {[string, string][]} places names and addresses
 */
export function goTo(places) {
  const dialog = document.createElement("dialog");
  const field = document.createElement("input");
  const list = document.createElement("ul");
  dialog.setAttribute("aria-label", "Go to");
  dialog.className = "go-to";
  field.type = "search";
  field.setAttribute("aria-label", "Name of a page, or id of a run or candidate");
  field.placeholder = "A page, run_…, cnd_…";
  list.className = "plain";
  const show = () => list.replaceChildren(...found(field.value, places).map(([name, address]) => entry(name, address)));
  field.addEventListener("input", show);
  dialog.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
    if (event.key === "Enter" && at < 0 && links.length) links[0].click();
    else if (event.key === "ArrowDown" && links.length) links[(at + 1) % links.length].focus();
    else if (event.key === "ArrowUp" && links.length) (at > 0 ? links[at - 1] : field).focus();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(field, list);
  document.body.append(dialog);
  show();
  dialog.showModal();
}

/**
 * Where some letters may lead.
 * @param {string} typed
 * @param {[string, string][]} places
 * @returns {[string, string][]}
 */
function found(typed, places) {
  const letters = typed.trim().toLowerCase();
  const id = /^(run|cnd)_[0-9a-f-]+$/.exec(letters);
  if (id) return [[`Open ${letters}`, `/${id[1] === "run" ? "runs" : "candidates"}/${letters}`]];
  return places.filter(([name]) => name.toLowerCase().includes(letters));
}

/** @param {string} name @param {string} address */
function entry(name, address) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = address;
  link.textContent = name;
  item.append(link);
  return item;
}

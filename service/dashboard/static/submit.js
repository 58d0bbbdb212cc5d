// The forms that start runs: puts errors beside their fields, adds rows and files, and takes files from this machine.
// @ts-check

const MAX_CHARACTERS = 20_000_000;
const form = /** @type {HTMLFormElement} */ (document.querySelector("#submit"));

/** Says what the check found beside each field, and nothing where there is nothing any more. */
function distribute() {
  const found = new Map(
    [...document.querySelectorAll("#verdict [data-wrong]")].map((one) => [one.getAttribute("data-wrong") ?? "", one]),
  );
  for (const place of form.querySelectorAll("[data-complaint]")) {
    const words = found.get(place.getAttribute("data-complaint") ?? "");
    if (place instanceof HTMLElement) place.hidden = !words;
    place.replaceChildren(...(words ? [...words.cloneNode(true).childNodes] : []));
    const field = form.querySelector(`[aria-describedby="${place.id}"]`);
    if (words) field?.setAttribute("aria-invalid", "true");
    else field?.removeAttribute("aria-invalid");
    if (words) place.closest("details")?.setAttribute("open", "");
  }
}

const verdict = document.querySelector("#verdict");
if (verdict) {
  let open = false;
  verdict.addEventListener(
    "toggle",
    (event) => {
      if (event.target instanceof HTMLDetailsElement && event.target.isConnected) open = event.target.open;
    },
    true,
  );
  new MutationObserver(() => {
    const lines = verdict.querySelector("[data-keep=lines]");
    if (lines instanceof HTMLDetailsElement) lines.open = open;
    distribute();
  }).observe(verdict, { childList: true });
}

// What a dry run said stays until the form is another: a check of the same words says less.
const content = () => JSON.stringify([...new FormData(form)].map(([name, value]) => [name, String(value)]));
let tried = "";
form.querySelector("[value=dry]")?.addEventListener("click", () => {
  tried = content();
});
verdict?.addEventListener("htmx:before:request", (event) => {
  if (event.target !== verdict) return;
  if (tried && tried === content()) event.preventDefault();
  else tried = "";
});

/** Has the form checked, and its draft kept, after a change that no key made. */
function typed() {
  form.dispatchEvent(new CustomEvent("evolve:typed", { bubbles: true }));
}

/** An empty copy of the last of some rows. @param {Element} list */
function more(list) {
  const copy = /** @type {HTMLElement} */ (list.lastElementChild?.cloneNode(true));
  const number = list.children.length + 1;
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (copy.querySelectorAll("input, textarea")))
    field.value = "";
  for (const field of copy.querySelectorAll("[aria-label]")) {
    field.setAttribute("aria-label", (field.getAttribute("aria-label") ?? "").replace(/\d+$/, String(number)));
  }
  list.append(copy);
  return copy;
}

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (form.querySelectorAll("[data-more]"))) {
  const list = form.querySelector(`[data-${button.dataset.more}]`);
  button.hidden = false;
  button.addEventListener("click", () => {
    if (list) more(list).querySelector("input")?.focus();
  });
}

/**
 * Puts a text into the file of its name, or into one without, or into another.
 * @param {string} name
 * @param {string} text
 */
export function put(name, text) {
  const list = form.querySelector("[data-files]");
  if (!list) return;
  const named = (/** @type {string} */ wanted) =>
    [...list.children].find((one) => one.querySelector("input")?.value.trim() === wanted);
  const place =
    named(name) ??
    [...list.children].find((one) => !one.querySelector("input")?.value && !one.querySelector("textarea")?.value) ??
    more(list);
  const [field, area] = [place.querySelector("input"), place.querySelector("textarea")];
  if (field) field.value = name;
  if (area) {
    area.value = text;
    area.classList.remove("short");
    area.setAttribute("aria-label", `Text of ${name}`);
  }
}

/** @param {File} file */
async function take(file) {
  // Of a folder, its own name is no part of what lies in it.
  const name = file.webkitRelativePath ? file.webkitRelativePath.split("/").slice(1).join("/") : file.name;
  if (name.split("/").some((part) => part.startsWith(".") || part === "__pycache__")) return "";
  if (file.size > MAX_CHARACTERS) return `${name} is too large for a page`;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) return `${name} is not text`;
    put(name, text);
    return "";
  } catch {
    return `${name} is not text`;
  }
}

const upload = form.querySelector("[data-upload]");
const said = form.querySelector("[data-upload-said]");
if (upload instanceof HTMLElement && said instanceof HTMLElement) {
  upload.hidden = false;
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (upload.querySelectorAll("[data-upload-files]"))) {
    field.addEventListener("change", async () => {
      const wrong = [];
      for (const file of field.files ?? []) wrong.push(await take(file));
      const words = wrong.filter(Boolean).join("; ");
      said.hidden = !words;
      said.textContent = words && `Not taken: ${words}. evolve run FOLDER --server takes folders with such files.`;
      field.value = "";
      typed();
    });
  }
}

// What all pages share: keys, the list of them, the palette, and pictures of charts.
// @ts-check
import { goTo } from "./go-to.js";
import { keepTimes } from "./local-time.js";
import { offerPictures } from "./pictures.js";

/** Keys of every page; pages about a run add those of their tabs. @type {[string, string, string][]} */
const places = [
  ["r", "/runs", "Runs"],
  ["n", "/runs/new", "New run"],
  ["q", "/workers", "Workers and queue"],
  ["s", "/batches", "Batches"],
  ["c", "/compare", "Compare"],
  ["a", "/admin", "Admin"],
];

/** Clicks the first element that is there. @param {string} selector */
function follow(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.click();
}

/** Moves among the rows of the page's first table that has links. @param {number} by */
function move(by) {
  const links = [...document.querySelectorAll("main tbody tr")]
    .map((row) => row.querySelector("a"))
    .filter((link) => link !== null);
  if (!links.length) return;
  const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
  links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))].focus();
}

/** @type {Record<string, [string, () => void]>} */
const single = {
  "?": ["This list", () => help()],
  "/": [
    "Search",
    () => {
      const field = document.querySelector("main [type=search]");
      if (field instanceof HTMLElement) field.focus();
    },
  ],
  j: ["Next row", () => move(1)],
  k: ["Previous row", () => move(-1)],
  "[": ["Previous", () => follow("[rel=prev]")],
  "]": ["Next", () => follow("[rel=next]")],
  p: ["Parent", () => follow("[data-parent]")],
  d: ["Diff", () => follow("[data-diff]")],
};

function tabs() {
  return [...document.querySelectorAll(".tabs a[data-key]")].map(
    (tab) =>
      /** @type {[string, string, string]} */ ([
        tab.getAttribute("data-key") ?? "",
        tab.getAttribute("href") ?? "",
        tab.textContent ?? "",
      ]),
  );
}

function help() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keyboard shortcuts");
  const title = document.createElement("h2");
  title.textContent = "Keyboard shortcuts";
  const list = document.createElement("table");
  const lines = [
    ...Object.entries(single).map(([key, [name]]) => [key, name]),
    ["Ctrl K", "Go to any page, run or candidate"],
    ...[...places, ...tabs()].map(([key, , name]) => [`g ${key}`, name]),
  ];
  for (const [key, name] of lines) {
    const row = list.insertRow();
    const cell = document.createElement("kbd");
    cell.textContent = key;
    row.insertCell().append(cell);
    row.insertCell().textContent = name;
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(title, list, close);
  document.body.append(dialog);
  dialog.showModal();
}

let waiting = false;
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && document.querySelector(".top nav")) {
    event.preventDefault();
    goTo([...tabs(), ...places].map(([, address, name]) => [name, address]));
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)))
    return;
  if (waiting) {
    waiting = false;
    const place = [...tabs(), ...places].find(([key]) => key === event.key);
    if (place) location.assign(place[1]);
  } else if (event.key === "g") {
    waiting = true;
    setTimeout(() => {
      waiting = false;
    }, 1500);
  } else if (event.key in single) {
    event.preventDefault();
    single[event.key][1]();
  }
});

const button = document.querySelector("[data-keys-help]");
if (button instanceof HTMLElement) {
  button.hidden = false;
  button.addEventListener("click", help);
}
offerPictures();
keepTimes();

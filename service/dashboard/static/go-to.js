// The palette: every page there is, by a few letters of its name, and any run or candidate by its id.
// @ts-check

const MAX_RUNS = 12;

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
  field.setAttribute("aria-label", "Name of a page or run, or name or id of a candidate");
  field.placeholder = "A page, a run, or a candidate such as 28.0";
  list.className = "plain";
  /** @type {[string, string][]} */
  let runs = [];
  const show = () =>
    list.replaceChildren(...found(field.value, places, runs).map(([name, address]) => entry(name, address)));
  void newest().then((those) => {
    runs = those;
    show();
  });
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
 * @param {[string, string][]} runs
 * @returns {[string, string][]}
 */
function found(typed, places, runs) {
  const letters = typed.trim().toLowerCase();
  const id = /^(run|cnd)_[0-9a-f_-]+$/.exec(letters);
  if (id) return [[`Open ${letters}`, `/${id[1] === "run" ? "runs" : "candidates"}/${letters}`]];
  const run = document.querySelector("[data-run]")?.getAttribute("data-run");
  if (run && /^\d+\.\d+$/.test(letters)) return [[`Candidate ${letters}`, `/runs/${run}/candidates/${letters}`]];
  const named = letters
    ? runs.filter(([name]) => letters.split(/\s+/).every((part) => name.toLowerCase().includes(part)))
    : [];
  return [...places.filter(([name]) => name.toLowerCase().includes(letters)), ...named.slice(0, MAX_RUNS)];
}

/**
 * The newest runs by name, with what tells them apart.
 * @returns {Promise<[string, string][]>}
 */
async function newest() {
  try {
    const answer = await fetch("/v1/runs?limit=200", { headers: { Accept: "application/json" } });
    if (!answer.ok) return [];
    /** @type {{id: string, problem: string, seed: number, state: string, labels: Record<string, string>}[]} */
    const items = (await answer.json()).items;
    return items.map((run) => {
      const words = [run.labels.name, run.problem, `seed ${run.seed}`, run.id.slice(0, 17), run.state];
      return [words.filter(Boolean).join(" · "), `/runs/${run.id}`];
    });
  } catch {
    return []; // the service is away: pages are still found
  }
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

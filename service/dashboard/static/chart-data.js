// The numbers of a chart from the API; a chart whose numbers did not come says so, and offers to ask again.
// @ts-check

/**
 * Null: they did not come, and the chart says so. What it shows stays.
 * @param {HTMLElement} host
 * @param {string} address
 * @param {() => void} again
 * @returns {Promise<any>}
 */
export async function chartData(host, address, again) {
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const found = await answer.json();
    host.querySelector("[data-chart-failed]")?.remove();
    return found;
  } catch (error) {
    complain(host, error instanceof Error ? error.message : String(error), again);
    return null;
  }
}

/** @param {HTMLElement} host @param {string} reason @param {() => void} again */
function complain(host, reason, again) {
  const words = host.querySelector("[data-chart-failed]") ?? document.createElement("p");
  const button = document.createElement("button");
  words.className = "complaint";
  words.setAttribute("data-chart-failed", "");
  words.setAttribute("role", "status");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Try again";
  button.addEventListener("click", again);
  words.replaceChildren(`The numbers of this chart did not come (${reason}). `, button);
  host.prepend(words);
}

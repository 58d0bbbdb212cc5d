// Choices of a page that its address keeps: whoever opens the address sees the same.
// @ts-check

/**
 * Keeps choices in the address of the page and of its links; an empty value is none.
 * @param {Record<string, string>} choices
 */
export function keep(choices) {
  const address = new URL(location.href);
  change(address, choices);
  history.replaceState(history.state, "", address);
  for (const link of document.querySelectorAll("a[data-keep], a[rel=next]")) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    const target = new URL(link.href);
    change(target, choices);
    link.href = target.href;
  }
}

/** @param {URL} address @param {Record<string, string>} choices */
function change(address, choices) {
  for (const [name, value] of Object.entries(choices)) {
    if (value === "") address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
}

/** What the address says of a choice. @param {string} name */
export function chosen(name) {
  return new URL(location.href).searchParams.get(name) ?? "";
}

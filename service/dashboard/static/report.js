// A report has no service behind it: what modules fetch stands in the file, and candidates are places in it.
// @ts-check
(() => {
  /** @param {string} address */
  const carried = (address) =>
    document.querySelector(`script[type="application/json"][data-answer="${CSS.escape(address)}"]`);

  globalThis.fetch = async (address) => {
    const { pathname, search } = new URL(String(address), location.href);
    const path = pathname.slice(pathname.indexOf("/v1/")); // a disk's letter may stand before it
    // How much of a run is asked for does not matter: the file holds what it holds.
    const found = carried(path + search) ?? carried(path);
    if (!found) throw new Error(`the report holds nothing of ${address}`);
    return new Response(found.textContent, { headers: { "Content-Type": "application/json" } });
  };

  /** Shows a candidate, where the file holds it. @param {URL} address */
  const show = (address) => {
    const found = address.pathname.match(/\/candidates\/(\d+)\.(\d+)$/);
    const place = found ? `candidate-${found[1]}-${found[2]}` : "";
    const element = place ? document.getElementById(place) : null;
    if (element instanceof HTMLDetailsElement) location.hash = place;
  };

  /** @param {URL} address */
  const ofService = (address) =>
    address.protocol === location.protocol &&
    /\/(runs|candidates)\/[\w-]+/.test(address.pathname) &&
    address.pathname !== location.pathname;

  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || !ofService(new URL(link.href))) return;
    event.preventDefault();
    show(new URL(link.href));
  });
  globalThis.navigation?.addEventListener("navigate", (event) => {
    const address = new URL(event.destination.url);
    if (!event.cancelable || !ofService(address)) return;
    event.preventDefault();
    queueMicrotask(() => show(address));
  });

  const open = () => {
    const element = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (!(element instanceof HTMLDetailsElement)) return;
    element.open = true;
    element.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", open);
  document.addEventListener("DOMContentLoaded", open);
})();

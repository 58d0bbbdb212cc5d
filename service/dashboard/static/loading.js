// A page that came before its figures: asks for the whole page, and puts it in its place.
// @ts-check
import { offerPictures } from "./pictures.js";

async function show() {
  const answer = await fetch(location.href, { headers: { "X-Evolve-Wait": "1" } });
  if (answer.redirected) {
    location.assign(answer.url);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("main");
  if (!fresh) throw new Error(`${answer.status}`);
  await Promise.all([...page.querySelectorAll("link[rel=stylesheet]")].map(addStyle));
  document.title = page.title;
  document.querySelector("main")?.replaceWith(document.adoptNode(fresh));
  for (const script of page.querySelectorAll("head script[src]")) addScript(script);
  htmx?.process(document.body);
  offerPictures();
  performance.mark("evolve:whole");
}

/** Adds a style that this page has not, and waits until it is there. @param {Element} link */
function addStyle(link) {
  const href = link.getAttribute("href") ?? "";
  if (document.querySelector(`link[href="${CSS.escape(href)}"]`)) return undefined;
  const made = document.createElement("link");
  made.rel = "stylesheet";
  made.href = href;
  const there = new Promise((resolve) => {
    made.addEventListener("load", resolve);
    made.addEventListener("error", resolve);
  });
  document.head.append(made);
  return there;
}

/** Adds a script that this page has not, in the order of the page. @param {Element} script */
function addScript(script) {
  const src = script.getAttribute("src") ?? "";
  if (document.querySelector(`script[src="${CSS.escape(src)}"]`)) return;
  const made = document.createElement("script");
  made.type = script.getAttribute("type") ?? "";
  made.async = false;
  made.src = src;
  document.head.append(made);
}

function complain() {
  const status = document.querySelector("[data-loading] [role=status]");
  const section = document.querySelector("[data-loading]");
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = "Try again";
  section?.removeAttribute("aria-busy");
  status?.replaceChildren("The service did not answer. ", again);
}

show().catch(complain);

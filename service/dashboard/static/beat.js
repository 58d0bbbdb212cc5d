// The mark of a run at work fades and comes back when there is news of it. An animation without an end would draw sixty
// frames a second for as long as the page is open.
// @ts-check

const BEAT_MILLISECONDS = 800;
let beating = false;

/** Shows that there is news; what comes during a beat makes no other. */
export function beat() {
  if (beating) return;
  beating = true;
  const page = document.documentElement;
  page.setAttribute("data-beat", "");
  setTimeout(() => page.removeAttribute("data-beat"), BEAT_MILLISECONDS);
  setTimeout(() => {
    beating = false;
  }, 2 * BEAT_MILLISECONDS);
}

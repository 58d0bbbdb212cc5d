// The page of a batch asks anew while runs of it are at work and somebody sees it.
// @ts-check

const EVERY = 3000;

/** Whether runs of the batch are at work. */
function active() {
  return document.querySelector("#batch-standing[data-active]") !== null;
}

const timer = setInterval(() => {
  if (!active()) clearInterval(timer);
  else if (!document.hidden) document.dispatchEvent(new CustomEvent("evolve:tick", { bubbles: true }));
}, EVERY);

// Times as people read them: in their own zone, with UTC on hover; ages go on counting while the page is open.
// @ts-check

const EVERY_MILLISECONDS = 5000;
/** @type {[number, string, number, string][]} the size of a unit in seconds, and that of the part behind it */
const UNITS = [
  [86400, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
];

/** A duration, as the service writes it. @param {number} value in seconds */
export function seconds(value) {
  if (value < 10) return `${Number(value.toPrecision(2))} s`;
  const whole = Math.round(value);
  for (const [size, name, part, below] of UNITS) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / part);
    return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${below}` : ""}`;
  }
  return `${whole} s`;
}

/** A time of the day, in 24 hours. @param {number} moment in milliseconds */
export function clock(moment) {
  return new Date(moment).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}

/** A date and a time in the zone of the reader. @param {number} moment in milliseconds */
export function local(moment) {
  const at = new Date(moment);
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(moment)}`;
}

/** @param {HTMLTimeElement} element @param {number} now */
function write(element, now) {
  const moment = Date.parse(element.dateTime);
  if (Number.isNaN(moment)) return;
  const utc = `${new Date(moment).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const since = Math.max(0, (now - moment) / 1000);
  const aged = "age" in element.dataset;
  const words = aged ? (since < 1 ? "now" : `${seconds(since < 10 ? Math.round(since) : since)} ago`) : local(moment);
  const title = aged ? `${local(moment)} (${utc})` : utc;
  if (element.textContent !== words) element.textContent = words;
  if (element.title !== title) element.title = title;
}

/** Writes all times of the page anew. */
export function writeTimes() {
  const now = Date.now();
  for (const element of document.querySelectorAll("time[datetime]"))
    if (element instanceof HTMLTimeElement) write(element, now);
}

/** Begins, and keeps on. */
export function keepTimes() {
  writeTimes();
  document.addEventListener("htmx:after:swap", writeTimes);
  setInterval(() => {
    if (!document.hidden) writeTimes();
  }, EVERY_MILLISECONDS);
}

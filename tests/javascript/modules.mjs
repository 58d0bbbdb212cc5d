// The dashboard's modules as Node.js can import them: copied, with a note that they are modules.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "evolve-static-"));
cpSync(join(HERE, "../../service/dashboard/static"), folder, { recursive: true });
writeFileSync(join(folder, "package.json"), '{"type": "module"}');
process.on("exit", () => rmSync(folder, { recursive: true }));

/** @param {string} name such as numbers.js */
export const load = (name) => import(pathToFileURL(join(folder, name)).href);
export const DATA = join(HERE, "../data");

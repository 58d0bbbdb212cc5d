// Runs a job with the types that were generated: URL, key and problem are arguments; prints state and best fitness.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
type Run = components["schemas"]["Run"];

const [url, key, problem] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

function taken<T>(data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const made = await client.POST("/v1/runs", {
  body: { problem, policy: "syntax", config: { budget: { evaluations: 8 }, seed: 1 }, labels: {} },
});
let run: Run = taken(made.data, made.error);
while (!["succeeded", "failed", "cancelled"].includes(run.state)) {
  const found = await client.GET("/v1/runs/{run_id}", {
    params: { path: { run_id: run.id }, header: { prefer: "wait=30" } },
  });
  run = taken(found.data, found.error);
}
const answer = await client.GET("/v1/runs/{run_id}/best", { params: { path: { run_id: run.id } } });
const best = taken(answer.data, answer.error);
console.log(JSON.stringify({ state: run.state, best: best.candidate.fitness, evaluated: run.progress.evaluated }));

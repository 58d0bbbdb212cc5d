"""Runs a job with the client that was generated: URL, key and problem are arguments; prints state and best fitness."""

import json
import sys

from generated.api.archives import get_best
from generated.api.runs import create_run, get_run
from generated.client import AuthenticatedClient
from generated.models import Best, BudgetKeys, Run, RunConfiguration, RunCreate


def main(url: str, key: str, problem: str) -> None:
    client = AuthenticatedClient(base_url=url, token=key, timeout=90.0)
    config = RunConfiguration(budget=BudgetKeys(evaluations=8), seed=1)
    run = create_run.sync(client=client, body=RunCreate(problem=problem, config=config, policy="syntax"))
    assert isinstance(run, Run), run
    while run.state not in {"succeeded", "failed", "cancelled"}:
        found = get_run.sync(run.id, client=client, prefer="wait=30")
        assert isinstance(found, Run), found
        run = found
    best = get_best.sync(run.id, client=client)
    assert isinstance(best, Best), best
    print(json.dumps({"state": run.state, "best": best.candidate.fitness, "evaluated": run.progress.evaluated}))


if __name__ == "__main__":
    main(*sys.argv[1:])

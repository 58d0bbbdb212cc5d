"""What each selection costs the controller: `python -m benchmarks.selections`.

Processor time of one choice of a parent, by the number of members and of objectives: when nothing has changed since the
last choice, and when a member has left and another has come. Members have 20 cases each and stand in a lineage of twice
as many candidates; 8 proposals are in flight.
"""

import statistics
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import arguments, report
from evolve.archives.population import Population
from evolve.evaluation import Evaluation, Outcome
from evolve.lineage import Lineage
from evolve.program import Program
from evolve.proposal import Individual
from evolve.selection import REGISTRY, ArchiveView, SelectionParams

CASES = 20
FLIGHTS = 8
PROGRAM = Program.of({"program.py": "x = 1\n"})


def individuals(lineage: Lineage, objectives: int) -> Iterator[Individual]:
    """Random members, each scored in a random direction at a random distance, children of random earlier ones."""
    rng = np.random.default_rng(0)
    number = 0
    while True:
        direction = rng.random(objectives)
        rewards = direction / np.linalg.norm(direction) * (0.5 + rng.random() / 2)
        cases = dict(zip((f"case {n}" for n in range(CASES)), rng.random(CASES).tolist(), strict=True))
        one = Individual(
            candidate_id=f"c{number}",
            program=PROGRAM,
            evaluation=Evaluation(outcome=Outcome.OK, cases=cases),
            fitness=float(rewards.sum()),
            rewards=tuple(rewards.tolist()),
            signed_scores=tuple(rewards.tolist()),
            measures={},
        )
        if number:
            lineage.propose(number, f"c{rng.integers(number)}")
        lineage.evaluate(one.candidate_id, number, one.fitness, one.rewards)
        if number > FLIGHTS:
            lineage.settle(number - FLIGHTS)
        yield one
        number += 1


def measure(size: int, objectives: int, rounds: int) -> list[dict[str, float | int | str]]:
    lineage = Lineage()
    coming = individuals(lineage, objectives)
    members = Population(objectives)
    for _ in range(size):
        next(coming)
        members.add(next(coming))
    view = ArchiveView(members, lineage, [f"o{n}" for n in range(objectives)], (0.0,) * objectives)
    rng, rows = np.random.default_rng(1), list[dict[str, float | int | str]]()
    for name in sorted(REGISTRY):
        still, changed = [], []
        for _ in range(rounds):
            one = next(coming)
            began = time.thread_time()
            members.remove(members[int(rng.integers(size))].candidate_id)
            members.add(one)
            REGISTRY[name](view, rng, SelectionParams())
            changed.append(time.thread_time() - began)
            began = time.thread_time()
            REGISTRY[name](view, rng, SelectionParams())
            still.append(time.thread_time() - began)
        rows.append(
            {
                "selection": name,
                "members": size,
                "objectives": objectives,
                "still_milliseconds": round(1000 * statistics.median(still), 3),
                "changed_milliseconds": round(1000 * statistics.median(changed), 3),
            }
        )
    return rows


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 10_000])
    parser.add_argument("--objectives", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    rows = [
        row
        for size in options.sizes
        for objectives in options.objectives
        for row in measure(size, objectives, options.rounds)
    ]
    report("selections", {"rows": rows}, options.out)


if __name__ == "__main__":
    main()

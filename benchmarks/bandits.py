"""Bandits on and off, on whole runs: `python -m benchmarks.bandits`.

Each run is one of `evolve run` on a shipped example, with every layer of the sandbox and without a model server. Two
comparisons, run in turn with the same seeds:

* islands: four islands that take turns, and four that a bandit chooses among. The syntax mutator writes.
* policies: two bundled policies for mazes, one trained and one not, drawn by equal weights, and chosen adaptively.

What is counted is how many evaluations a run takes to its target, as in `benchmarks.to_target`: half of the way from
the seed program to the best known value. A run that does not get there counts with the last evaluation. Runs go on
beyond their target, so that their ends are compared too. With `--keep` each run is kept in a file, and is not made
again.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counts import Kept, geometric
from benchmarks.exploration import Steps, ahead, reached
from benchmarks.harness import arguments, report
from benchmarks.tasks import EXAMPLES, PROBLEMS, WAY
from service.problems.load import load_problem

OFF, ON = "off", "on"
POLICIES = """
[[policies]]
kind = "bundled"
name = "trained"
model = "maze-vpo"

[[policies]]
kind = "bundled"
name = "untrained"
model = "maze-base"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is switched, and on which examples.

    Attributes:
        common: settings of both.
        switched: the key of the bandit, with its values off and on.
        policies: a policy file; empty: the syntax mutator writes.
    """

    examples: Sequence[str]
    common: Sequence[str] = ()
    switched: tuple[str, str, str]
    policies: str = ""

    def settings(self, state: str) -> list[str]:
        """What a run is given, with the bandit off or on."""
        key, off, on = self.switched
        return [*self.common, f"{key}={on if state == ON else off}"]


COMPARISONS = {
    "islands": Comparison(
        examples=PROBLEMS, common=("islands=4",), switched=("island_choice", "turns", "bandit")
    ),
    "policies": Comparison(
        examples=("maze",), switched=("policy_choice", "weights", "adaptive"), policies=POLICIES
    ),
}  # fmt: skip


def run(example: str, settings: Sequence[str], policies: str, seed: int, evaluations: int) -> Steps:
    """One run to its end: the evaluations at which its best got better, each with that best."""
    unbound = ("budget.wall_seconds=none", "budget.patience=none", "budget.target=none")
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as home:
        command = [
            sys.executable, "-m", "service.cli.main", "run", str(EXAMPLES / example), "--json", "--seed", str(seed),
            "--evaluations", str(evaluations), "--db", f"sqlite:///{home}/evolve.db",
        ]  # fmt: skip
        for setting in (*settings, *unbound):
            command += ["--set", setting]
        if policies:
            (Path(home) / "policies.toml").write_text(policies)
            command += ["--policy", f"{home}/policies.toml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [line["fitness"] for line in lines if line["kind"] == "candidate.evaluated"]
    if done.returncode or not found:
        raise SystemExit(f"evolve run ended after {len(found)} evaluations: {done.stderr[-2000:]}")
    return improvements(found)


def improvements(found: Sequence[float | None]) -> list[tuple[int, float]]:
    """The places in a row of fitness, counted from 1, that are better than all before; None: not valid."""
    steps: list[tuple[int, float]] = []
    for place, fitness in enumerate(found, start=1):
        if fitness is not None and (not steps or fitness > steps[-1][1]):
            steps.append((place, fitness))
    return steps


def target_of(example: str, seed: float) -> float:
    """Half of the way from the fitness of the seed program to the best known."""
    problem = load_problem(EXAMPLES / example).problem
    best = problem.known_best
    if best is None:
        raise SystemExit(f"the example {example} names no best known value")
    if len(problem.objectives) == 1 and problem.objectives[0].direction == "minimize":
        best = -best
    return seed + WAY * (best - seed)


def compared(found: dict[str, dict[str, list[Steps]]], evaluations: int) -> dict[str, Any]:
    """Bandits on against off: the ratio of evaluations to the target, and who ends ahead.

    Args:
        found: by state and example, a run for each seed.
    """
    targets = {example: target_of(example, of[0][0][1]) for example, of in found[OFF].items()}
    counts = {
        state: {example: [reached(steps, targets[example]) for steps in of] for example, of in runs.items()}
        for state, runs in found.items()
    }
    return {
        "targets": targets,
        "reached": {
            state: {example: sum(count is not None for count in of) for example, of in by_example.items()}
            for state, by_example in counts.items()
        },
        **geometric(counts[ON], counts[OFF], evaluations),
        "ends": {
            example: ahead({example: found[ON][example]}, {example: found[OFF][example]}, evaluations)
            for example in targets
        },
    }


def measured(name: str, kept: Kept[Steps], options: Any) -> dict[str, Any]:
    """One comparison, seed by seed, with the bandit off and on in turn."""
    comparison = COMPARISONS[name]
    found: dict[str, dict[str, list[Steps]]] = {
        state: {example: [] for example in comparison.examples} for state in (OFF, ON)
    }
    for seed in range(options.seeds):
        for example in comparison.examples:
            for state, runs in found.items():
                what = {"comparison": name, "bandit": state, "example": example, "seed": seed}
                measure = partial(
                    run, example, comparison.settings(state), comparison.policies, seed, options.evaluations
                )
                runs[example].append(kept.result({**what, "evaluations": options.evaluations}, measure))
    return compared(found, options.evaluations)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=500, help="of a run, the seed's among them")
    parser.add_argument("--comparisons", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    parser.add_argument("--keep", type=Path, help="a file that keeps each run; what stands there is not made again")
    options = parser.parse_args()
    kept = Kept[Steps](options.keep, "steps")
    figures = {name: measured(name, kept, options) for name in options.comparisons}
    report("bandits", {"seeds": options.seeds, "evaluations": options.evaluations, **figures}, options.out)


if __name__ == "__main__":
    main()

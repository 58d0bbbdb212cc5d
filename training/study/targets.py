"""The targets of the comparison, each held against what was measured; nothing is known beforehand.

A target is met only where the whole interval meets it, and missed only where none of it does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from evolve.statistics.intervals import Estimate
from training.study.findings import Findings, gain, lead
from training.study.gather import AT_ONE, OWN
from training.study.intervals import mean
from training.study.plan import CHAIN, GRPO, HARD, KINDS, VPO, name_of

SEEDS = 5
FROM = 4
GAIN = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target.

    Attributes:
        met: None where it was not measured, or the interval leaves it open.
        seen: what was measured, in words; empty where nothing was.
    """

    name: str
    met: bool | None
    seen: str

    @property
    def verdict(self) -> str:
        """In words."""
        if self.met is None:
            return "open" if self.seen else "not measured"
        return "met" if self.met else "not met"


def targets(found: Findings) -> list[Target]:
    """All targets, in order."""
    return [
        _seeds(found),
        _misses(found),
        *(_sharp(found, kind) for kind in KINDS),
        *(target for kind in KINDS for target in _wide(found, kind)),
        *_pays(found),
    ]


def _seeds(found: Findings) -> Target:
    methods = sorted({contender.method for contender in found.contenders})
    counts = {method: sum(contender.method == method for contender in found.contenders) for method in methods}
    seen = ", ".join(f"{name_of(method)} {count}" for method, count in counts.items())
    return Target(
        name=f"at least {SEEDS} training seeds of each method that learns from rewards",
        met=min(counts.get(method, 0) for method in (GRPO, CHAIN, VPO)) >= SEEDS,
        seen=seen,
    )


def _misses(found: Findings) -> Target:
    name = (
        f"{found.plain.many or found.scope.base_answers} plain samples of the warm start miss the optimum of most hard"
    )
    if found.plain.hit is None:
        return Target(name=f"{name} mazes", met=None, seen="")
    hit = mean(found.plain.hit)
    met = True if hit.high < 0.5 else False if hit.low >= 0.5 else None
    return Target(name=f"{name} mazes", met=met, seen=f"they hold it on {hit} of the mazes")


def _sharp(found: Findings, kind: str) -> Target:
    compared = found.sampled[kind, AT_ONE]
    leads = {k: lead(compared, VPO, GRPO, f"best@{k}") for k in found.scope.ks if k >= FROM}
    name = f"{kind} mazes, temperature 1: VPO above GRPO on best@k from k = {FROM} on"
    known = {k: one for k, one in leads.items() if one is not None}
    if len(known) < len(leads) or not leads:
        return Target(name=name, met=None, seen="")
    above = [k for k, one in known.items() if one.low > 0]
    below = [k for k, one in known.items() if one.high <= 0]
    met = False if below else True if len(above) == len(known) else None
    told = f"above at k = {', '.join(map(str, above))}" if above else "above at no k"
    told += f", below at k = {', '.join(map(str, below))}" if below else ""
    return Target(name=name, met=met, seen=f"{told}; best@{found.maximum} {known[found.maximum].signed}")


def _wide(found: Findings, kind: str) -> Iterator[Target]:
    compared = found.sampled[kind, OWN]
    for other in (GRPO, CHAIN):
        for figure, words in ((f"ew@{found.maximum}", "E_w[max]"), ("volume", "hypervolume")):
            ahead = lead(compared, VPO, other, figure)
            best = lead(compared, VPO, other, f"best@{found.maximum}")
            yield Target(
                name=f"{kind} mazes, own temperatures: VPO at or above {name_of(other)} on {words}",
                met=None if ahead is None else _reached(ahead, 0.0),
                seen=f"{ahead.signed}; best@{found.maximum} {best.signed}" if ahead and best else "",
            )


def _reached(found: Estimate, goal: float) -> bool | None:
    """Whether all of an interval, or nothing of it, is at a goal or above; None where it leaves that open."""
    return True if found.low >= goal else False if found.high < goal else None


def _pays(found: Findings) -> Iterator[Target]:
    for label in found.search_labels:
        for budget in found.scope.budgets:
            islands, plain = (
                found.searched.get((strategy, label), {}).get(VPO) for strategy in ("islands", "best_of_n")
            )
            times = gain(islands, plain, f"solved@{budget}")
            yield Target(
                name=f"{HARD} mazes, {label}: islands with VPO solve {GAIN} times as many as best_of_n, {budget}"
                " evaluations",
                met=None if times is None else _reached(times, GAIN),
                seen="" if times is None else f"{times} times",
            )

"""The targets of the comparison, each with its measurement. Nothing is known beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass

from training.study.bootstrap import mean
from training.study.findings import Findings, estimate, gain, lead
from training.study.gather import AT_ONE, OWN
from training.study.plan import CHAIN, GRPO, HARD, KINDS, VPO, name_of

SEEDS = 3
FROM = 4
GAIN = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target.

    Attributes:
        met: None if it was not measured.
        seen: the measurement, in words.
    """

    name: str
    met: bool | None
    seen: str

    @property
    def verdict(self) -> str:
        """In words."""
        return "not measured" if self.met is None else "met" if self.met else "not met"


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
    return Target(name=f"{name} mazes", met=hit.high < 0.5, seen=f"they find it on {hit} of the mazes")


def _sharp(found: Findings, kind: str) -> Target:
    compared = found.sampled[kind, AT_ONE]
    ks = [k for k in found.scope.ks if k >= FROM]
    leads = {k: lead(compared, VPO, GRPO, f"best@{k}") for k in ks}
    name = (
        f"{kind} mazes, temperature 1: VPO above GRPO on best@k from k = {FROM} on, intervals apart at {found.maximum}"
    )
    ours, theirs = (estimate(compared.get(method), f"best@{found.maximum}") for method in (VPO, GRPO))
    if ours is None or theirs is None or not all(leads.values()):
        return Target(name=name, met=None, seen="")
    below = [k for k, one in leads.items() if one is None or one.value <= 0]
    seen = f"best@{found.maximum} {ours} against {theirs}"
    seen += f", not above at k = {', '.join(map(str, below))}" if below else ", above at every k"
    return Target(name=name, met=not below and ours.above(theirs), seen=seen)


def _wide(found: Findings, kind: str) -> Iterator[Target]:
    compared = found.sampled[kind, OWN]
    for other in (GRPO, CHAIN):
        for figure, words in ((f"ew@{found.maximum}", "E_w[max]"), ("volume", "hypervolume")):
            ahead = lead(compared, VPO, other, figure)
            best = lead(compared, VPO, other, f"best@{found.maximum}")
            yield Target(
                name=f"{kind} mazes, own temperatures: VPO at or above {name_of(other)} on {words}",
                met=None if ahead is None else ahead.value >= 0,
                seen=f"{ahead.signed}, best@{found.maximum} {best.signed}" if ahead and best else "",
            )


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
                met=None if times is None else times.value >= GAIN,
                seen="" if times is None else f"{times} times",
            )

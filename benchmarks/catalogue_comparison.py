"""Systems of Evolve beside other systems, on problems that both searched with the same seeds."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.counts import geometric, sign_test
from benchmarks.exploration import ROUNDING, Steps, reached

# By problem and seed.
Runs = Mapping[str, Mapping[int, Steps]]
Pairs = Mapping[str, Sequence[tuple[Steps, Steps]]]


def compared(own: Runs, peer: Runs, last: int) -> dict[str, Any] | None:
    """On how many problems one is ahead, and how soon it is where the other ends; None: they share no run.

    Only seeds that both searched a problem with count.

    Args:
        own, peer: the steps of runs; more is better.
        last: evaluations of a run, the seed's among them.
    """
    pairs = {
        name: [(runs[seed], others[seed]) for seed in sorted(runs.keys() & others.keys())]
        for name, runs in own.items()
        if (others := peer.get(name, {})) and runs.keys() & others.keys()
    }
    if not pairs:
        return None
    return {"problems": len(pairs), **_means(pairs), "to_best_of_peer": _to_best(pairs, last)}


def _means(pairs: Pairs) -> dict[str, Any]:
    leads = {name: statistics.mean(own[-1][1] - peer[-1][1] for own, peer in of) for name, of in pairs.items()}
    ahead = sum(lead > ROUNDING for lead in leads.values())
    behind = [name for name, lead in leads.items() if lead < -ROUNDING]
    return {
        "ahead": ahead,
        "equal": len(leads) - ahead - len(behind),
        "behind": len(behind),
        "behind_on": behind,
        "p": float(f"{sign_test(ahead, len(behind)):.2g}"),
    }


def _to_best(pairs: Pairs, last: int) -> dict[str, Any]:
    """Evaluations until the best of the other's run, against those that it took for it itself.

    A run that is never there counts with its last evaluation. Where the other found nothing better than the seed, both
    are there at once, and the ratio is 1.
    """
    seeds = min(map(len, pairs.values()))
    own = {name: [reached(mine, peer[-1][1]) for mine, peer in of[:seeds]] for name, of in pairs.items()}
    peers = {name: [peer[-1][0] for _, peer in of[:seeds]] for name, of in pairs.items()}
    return {
        **geometric(own, peers, last),
        "runs": seeds * len(pairs),
        "not_reached": sum(counts.count(None) for counts in own.values()),
    }

"""Views for tests of selections."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evolve.archives.population import Population
from evolve.lineage import Lineage
from evolve.selection import REGISTRY, ArchiveView, Selected, SelectionParams
from tests.unit.individuals import individual

DEFAULT = SelectionParams()


def view_of(
    fitness: Sequence[float],
    rewards: Sequence[Sequence[float]] | None = None,
    *,
    cases: Sequence[Mapping[str, float]] | None = None,
    reference: tuple[float, ...] | None = None,
    lineage: Lineage | None = None,
) -> ArchiveView:
    """A view of the members m0, m1, ..., seeds of their run unless a lineage knows them."""
    rows = [tuple(row) for row in rewards] if rewards is not None else [(value,) for value in fitness]
    members, known = Population(len(rows[0])), lineage or Lineage()
    for place, (value, row) in enumerate(zip(fitness, rows, strict=True)):
        member = individual(f"m{place}", value, row)
        if cases is not None:
            member = replace(member, evaluation=replace(member.evaluation, cases=cases[place]))
        members.add(member)
        if lineage is None:
            known.evaluate(member.candidate_id, 0, value, row)
    return ArchiveView(members, known, [f"o{number}" for number in range(len(rows[0]))], reference)


def choose(name: str, view: ArchiveView, times: int, seed: int, params: SelectionParams = DEFAULT) -> list[Selected]:
    """What a selection chooses, again and again."""
    rng = np.random.default_rng(seed)
    return [REGISTRY[name](view, rng, params) for _ in range(times)]


def shares(name: str, view: ArchiveView, times: int, seed: int, params: SelectionParams = DEFAULT) -> list[float]:
    """How often each member is chosen."""
    places = [chosen.place for chosen in choose(name, view, times, seed, params)]
    return [float(share) for share in np.bincount(places, minlength=len(view)) / times]

"""The mutations and how often each is tried."""

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from service.policy.syntax import choices, structure, tune
from service.policy.syntax.source import Draft, SourceText
from service.policy.syntax.tree import Tree

Mutation = Callable[[SourceText, Sequence[SourceText], np.random.Generator], Draft | None]
_OfTree = Callable[[SourceText, Tree, np.random.Generator], Draft | None]
_OfTreeAndOthers = Callable[[SourceText, Tree, Sequence[SourceText], np.random.Generator], Draft | None]


def mutate(source: SourceText, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Draw a mutation and its place. None if this mutation has no place here."""
    drawn = int(np.searchsorted(_CUMULATED, rng.random() * _CUMULATED[-1], side="right"))
    return _MUTATIONS[drawn](source, others, rng)


def _number(mutation: Callable[[SourceText, np.random.Generator], Draft | None]) -> Mutation:
    return lambda source, _, rng: mutation(source, rng)


def _tree(mutation: _OfTree) -> Mutation:
    return lambda source, _, rng: mutation(source, source.tree, rng) if source.tree is not None else None


def _trees(mutation: _OfTreeAndOthers) -> Mutation:
    return lambda source, others, rng: mutation(source, source.tree, others, rng) if source.tree is not None else None


# Numbers first: they seldom break a program, and a climb on them is what improves a constructive program fastest.
_WEIGHTED: tuple[tuple[float, Mutation], ...] = (
    (46, _number(tune.tune)),
    (6, _number(tune.shift)),
    (3, _number(tune.reset)),
    (2, _number(tune.swap)),
    (22, tune.blend),
    (4, _tree(structure.operator)),
    (2, _tree(structure.comparison)),
    (2, _tree(structure.boolean)),
    (5, _tree(structure.statement)),
    (3, _tree(structure.bound)),
    (3, _trees(structure.exchange)),
    (2, _trees(structure.function)),
)
# Tried in turn where many draws found nothing to do, since a program may have a place for these alone.
RARE: tuple[Mutation, ...] = tuple(
    map(
        _tree,
        (
            structure.operator,
            structure.comparison,
            structure.boolean,
            structure.bound,
            choices.opposite,
            choices.flag,
            choices.returned,
        ),
    )
)
_MUTATIONS = tuple(mutation for _, mutation in _WEIGHTED)
_CUMULATED = tuple(accumulate(weight for weight, _ in _WEIGHTED))

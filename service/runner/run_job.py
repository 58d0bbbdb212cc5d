"""A run to drive, and everything it is driven with."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.configuration import RunConfig
from evolve.extensions import ExtensionKind
from evolve.ports import Embedder, Evaluator
from evolve.problem import Problem
from evolve.search.ensemble import EnsembleMember
from service.ports import Analyst, Clock, Health, RunLog, RunTrainer, RunVersions, SnapshotStore, unknown_health


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """A run to drive, new or interrupted, and everything it is driven with.

    Attributes:
        owner: who holds the run's lease.
        elapsed_seconds: time at work in earlier sittings.
        patience_seconds: how long a database that is away is waited for.
        health: how the servers of the policies fare.
        embedder: embeds programs, where they are compared by their embeddings.
        facts: reads the facts of the run, for its insights; None: it can write none.
        analyst: makes insights of them.
        extensions: kind and name of those that policies and the evaluator name.
        trainer: trains the policy within the run; None: nobody does.
        versions: what came of that; None: the policy has no versions.
        snapshots: keep its state for the next who takes it up; None: nothing is kept, and all events are folded.
    """

    run_id: str
    problem: Problem
    config: RunConfig
    policies: Sequence[EnsembleMember]
    evaluator: Evaluator
    log: RunLog
    clock: Clock
    owner: str
    elapsed_seconds: float = 0.0
    patience_seconds: float = math.inf
    health: Health = unknown_health
    embedder: Embedder | None = None
    facts: Callable[[], str] | None = None
    analyst: Analyst | None = None
    extensions: Sequence[tuple[ExtensionKind, str]] = ()
    trainer: RunTrainer | None = None
    versions: RunVersions | None = None
    snapshots: SnapshotStore | None = None

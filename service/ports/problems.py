"""Problems as a tenant submitted them, and what the composition root makes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from evolve.evaluation import Evaluation
from service.ports.values import Bundle, NewRun, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRecord:
    """A version of a problem.

    Attributes:
        document: what its files say: description, language, seeds, objectives, measures, limits, integrity, known_best,
            search (its defaults), policy (that it names, without a key) and warnings; fork_of: of a fork, the candidate
            that is its seed.
    """

    id: str
    tenant: str
    name: str
    version: int
    bundle_hash: str
    document: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProblem:
    """A problem to store. The same content under the same name is the version that is there already."""

    tenant: str
    name: str
    bundle: Bundle
    document: Mapping[str, Any]
    created_at: datetime


class ProblemStore(Protocol):
    """Problems, by tenant, name and version; those of forks are found by id and `name@version` alone."""

    def add(self, problem: NewProblem) -> ProblemRecord:
        """Store a version, or find the one with this content."""

    def get(self, tenant: str, problem_id: str) -> ProblemRecord:
        """One version, by its id, or by name for the latest, or by `name@version`.

        Raises:
            NotFoundError: the tenant has none.
        """

    def problems(self, tenant: str, name: str = "", before: str = "", limit: int = 50) -> list[ProblemRecord]:
        """Versions, newest first (by creation, then id), from the one after `before`; of one name, or of all."""

    def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder.

        Raises:
            NotFoundError: there is none.
        """

    def delete(self, tenant: str, problem_id: str) -> None:
        """Remove a version.

        Raises:
            NotFoundError: the tenant has none.
            ConflictError: it has runs.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A problem's folder as it was sent: content by path."""

    name: str
    files: Mapping[str, bytes] = field(repr=False)
    executable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReport:
    """How one seed of a problem was scored in a check."""

    name: str
    evaluation: Evaluation
    fitness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemReport:
    """What a check of a problem found; it can be searched on when `complaints` is empty.

    Attributes:
        errors: what a lenient evaluator reports as the error of a seed that it scores.
        advice: what would make evaluations faster or save their time.
    """

    name: str
    document: Mapping[str, Any]
    complaints: Sequence[str] = ()
    warnings: Sequence[str] = ()
    seeds: Sequence[SeedReport] = ()
    errors: Sequence[str] = ()
    advice: Sequence[str] = ()


PolicyWords = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a front door asks for.

    Attributes:
        problem: id, name or `name@version` of one of the tenant's problems.
        config: run configuration, nested; what it does not say the problem says, or the default.
        policy: name of one of the operator's policies, or a description without a key, or several of these; None: those
            that the problem names as far as the operator allows them, else the syntax mutator.
        fork_of: candidate whose program is the seed; its run's problem is that of the new run, and its configuration
            what `config` does not say.
    """

    problem: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    policy: PolicyWords | Sequence[PolicyWords] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    fork_of: str = ""
    batch_id: str = ""


class Submissions(Protocol):
    """What front doors submit; everything that cannot work is found before anything is stored."""

    def read_problem(self, upload: Upload) -> NewProblem:
        """Read a problem's folder for the tenant `default`; nothing of it is run.

        Raises:
            InvalidProblemError: it cannot be searched on; with every complaint.
        """

    async def check_problem(self, upload: Upload) -> ProblemReport:
        """Check a problem and run its seeds once, in this machine's sandbox or by a worker.

        Raises:
            RefusedError: nothing here may run programs.
        """

    def prepare(self, tenant: str, requests: Sequence[RunRequest], by: str = "") -> Sequence[NewRun]:
        """Make of requests the runs that they ask for; nothing is stored.

        It waits for names that others chose to be resolved: hold no transaction meanwhile.

        Args:
            tenant: whose runs they will be.
            requests: one for each run.
            by: name of the key that they came with; empty: with none.

        Raises:
            NotFoundError: no such problem, candidate or policy.
            InvalidProblemError: a problem cannot be searched on.
            ConfigurationError, UsageError: a configuration or a policy is off, or the problems are too large together.
            RefusedError: the operator does not allow a policy's address.
            UnreachableError: a policy's address does not resolve.
        """

    def store(self, run: NewRun) -> RunRecord:
        """Store a prepared run, queued.

        Raises:
            QuotaError: the tenant has no room for another run.
        """

    def admit(self, tenant: str) -> None:
        """Nothing where one more run of a tenant may be at work.

        Raises:
            QuotaError: the tenant has used up what it may.
        """

    def admit_again(self, tenant: str) -> None:
        """Nothing where a paused run of a tenant may go on.

        Raises:
            QuotaError: the tenant has used up its evaluations or tokens of 24 hours.
        """

    def store_all(self, runs: Sequence[NewRun]) -> None:
        """Store prepared runs of one tenant, queued: all of them or none.

        Raises:
            QuotaError: the tenant has no room for all of them.
        """

    def policies(self) -> Sequence[Mapping[str, Any]]:
        """The operator's policies, as they may be shown."""

"""Updates of a policy within its run: what a runner asks of trainers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from evolve.search.ensemble import EnsembleMember


class RunVersions(Protocol):
    """The versions of a run's policy, each by its name and the hash of its folder."""

    async def check(self) -> None:
        """Check that versions can be asked, before there are any.

        Raises:
            PolicyError: their server does not take them.
        """

    async def load(self, policy: str, model: str) -> None:
        """Let the server of the policy load a version, and check that it answers with it. Repeating loads nothing.

        Raises:
            ServiceError: the version is not stored, or does not load.
        """

    async def open(self, policy: str, model: str) -> "EnsembleMember":
        """A version, ready to be asked."""

    async def unload(self, policy: str, model: str) -> None:
        """Let the server of the policy unload a version that is not asked any more. One that is not there is left.

        Raises:
            ServiceError: it stays loaded.
        """


class LoadedVersions(Protocol):
    """The versions of a run's policy that its server has."""

    async def unload(self, policy: str, model: str) -> None:
        """Let the server of the policy unload a version. One that is not there is left.

        Raises:
            ServiceError: it stays loaded.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOrder:
    """An update of the policy of a run.

    Attributes:
        number: from 1.
        newest: the version to train on. Empty: the policy that the run began with.
        after, through: its batch are the answered proposals behind the first number, up to the second.
        settings: objective, k, rate, divergence, replay and seed.
    """

    number: int
    newest: str
    after: int
    through: int
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult:
    """What came of an update.

    Attributes:
        policy: the version. Empty: none.
        model: SHA-256 of its folder.
        figures: of the training.
        reason: why there is no version.
    """

    policy: str = ""
    model: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


class RunTrainer(Protocol):
    """Has the policy of one run trained. All of it is stored, so another process can go on with it.

    Attributes:
        backend: that trains.
    """

    backend: str

    def submit(self, order: UpdateOrder) -> str:
        """Store the training job of an update, and return its id. Repeating stores nothing."""

    def result(self, job_id: str) -> UpdateResult | None:
        """What came of a job. None: it has not ended."""

    def waits(self, job_id: str) -> bool:
        """Whether no trainer has taken a job."""

    def cancel(self, job_id: str) -> None:
        """End a job that the run does not need any more."""

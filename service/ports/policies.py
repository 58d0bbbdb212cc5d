"""The policies of a run, as the rest of the service sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from service.ports.learning import RunVersions

if TYPE_CHECKING:
    from evolve.ports import Embedder
    from evolve.prompt import AnalystRequest
    from evolve.proposal import Charge, Proposal
    from evolve.search.ensemble import EnsembleMember

# The state of the servers behind policies, in numbers and words, by policy. None: there are none, or nothing is known.
Health = Callable[[], Mapping[str, Mapping[str, Any]] | None]


def unknown_health() -> None:
    """Nothing is known of a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """A reading of what the models behind servers do.

    Attributes:
        calls: in flight.
        tokens: received since the process started, by estimate.
        dropped: parts of completions that made no answer, by reason.
    """

    calls: int = 0
    tokens: float = 0.0
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """A model, as its server described it.

    Attributes:
        tells_context: whether the server told the length of the context, rather than the settings.
        counts_tokens: whether the server counts the tokens of a text.
    """

    model: str
    context_tokens: int
    tells_context: bool
    counts_tokens: bool


class Analyst(Protocol):
    """Writes the insights of a run from the facts of its record."""

    @property
    def name(self) -> str:
        """Its name in records and statistics."""

    async def write(self, request: "AnalystRequest", proposal: "Proposal", charges: "list[Charge]") -> str:
        """Insights in plain characters, no longer than a version may be.

        Args:
            request: what it is told.
            proposal: seeds its sampling.
            charges: receives the cost, also of a call that failed.

        Raises:
            PolicyError: it wrote nothing.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicies:
    """The policies of a run, ready to be asked.

    Attributes:
        members: the authors, each with the critic and the advisor where there are any.
        critic, advisor: their names. Empty means that there is none.
        embedder: embeds programs, where the run has one.
        analyst: writes insights, where the run has one.
        health: the state of the servers, by policy.
        activity: what models behind servers do at present. None means that there are none.
        models: of the policies whose servers described them, by policy.
        versions: of the only author. None: it has none.
    """

    members: "tuple[EnsembleMember, ...]"
    critic: str = ""
    advisor: str = ""
    embedder: "Embedder | None" = None
    analyst: Analyst | None = None
    health: Health = unknown_health
    activity: Callable[[], Activity | None] = lambda: None
    models: Mapping[str, ModelDescription] = field(default_factory=dict)
    versions: RunVersions | None = None

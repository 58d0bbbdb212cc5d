"""Members on demand: which members of the archives a resumed search needs in memory, and which only in proposals.

The decisions of most searches need of a member what its events tell. Its program and texts are then loaded when a
proposal shows it.
"""

from collections.abc import Callable

from evolve.configuration import RunConfig
from evolve.extensions import ExtensionKind, built_in_names
from evolve.proposal import Individual, Proposal
from evolve.search.state import SearchState
from evolve.search.unloaded import known_size, loaded_proposal

_BY_CASES = frozenset({"lexicase", "downsampled_lexicase"})


def needs_members(state: SearchState) -> bool:
    """Whether decisions of a search compare programs, read cases, or are those of an extension that may do so."""
    return _has_extension(state.config) or any(_compares(island.config) for island in state.islands)


def members_to_load(state: SearchState, *, sizes: bool) -> Callable[[Individual], bool]:
    """Which members a resumed search needs in memory.

    Args:
        sizes: whether decisions need the sizes of programs.
    """
    if needs_members(state):
        return every_member
    return _of_unknown_size if sizes else _no_member


def every_member(member: Individual) -> bool:
    """All of them."""
    del member
    return True


def show(state: SearchState, proposal: Proposal, loaded: dict[str, Individual]) -> Proposal:
    """A proposal with what was loaded for it; its answers are read against that from now on."""
    shown = loaded_proposal(proposal, loaded)
    if entry := state.open.get(proposal.number):
        entry.proposal = shown
    return shown


def _no_member(member: Individual) -> bool:
    del member
    return False


def _of_unknown_size(member: Individual) -> bool:
    return known_size(member.program) is None


def _has_extension(config: RunConfig) -> bool:
    """Operators aside: one of an extension gives words for a prompt, and sees no member."""
    return any(
        kind is not ExtensionKind.OPERATOR and name not in built_in_names(kind) for kind, name in config.extensions
    )


def _compares(config: RunConfig) -> bool:
    return config.novelty.kind != "none" or not _BY_CASES.isdisjoint(config.selection or {})

"""Levels of isolation, and the layers they are made of."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from service.sandbox.inside.attacks import CROWD


class IsolationLevel(StrEnum):
    """How far a program under test is kept apart, strongest first.

    strong: namespaces, sized scratch, read-only mounts, Landlock, seccomp. medium: Landlock and seccomp. weak: limits
    on the whole tree, which is ended whole. none: limits on single processes, and the end of their group.
    """

    STRONG = "strong"
    MEDIUM = "medium"
    WEAK = "weak"
    NONE = "none"

    @property
    def rank(self) -> int:
        """0 for none, up to 3 for strong."""
        return 3 - list(IsolationLevel).index(self)

    def reaches(self, other: "IsolationLevel") -> bool:
        """Whether it is at least as strong as another."""
        return self.rank >= other.rank


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the sandbox.

    Attributes:
        on: whether it holds, as found out by trying.
        reason: what it does, or why it is off.
    """

    name: str
    on: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack of the self-test.

    Attributes:
        blocked: whether it came to nothing.
        detail: what the attacker saw.
        undecided: it did not come to an end, so that nobody knows; it is not counted as blocked.
    """

    name: str
    blocked: bool
    detail: str
    undecided: bool = False


_REACHES_OUT = (
    "a TCP connection to this machine",
    "a datagram to this machine",
    "a connection to a socket in the file system",
    "a datagram to a socket in the file system",
    "a file outside",
    "a write outside",
    "the mode of a file outside",
    "the environment of the process that started it",
    "a signal to the process that started it",
)
_OUTLASTS = ("more memory than allowed", "a process that outlives its evaluation")
# Without it programs are as well isolated, but some that are good fail.
REACHABLE = "reachable interpreter"
_NEEDED_LAYERS = {
    IsolationLevel.STRONG: ("namespaces", "sized scratch", "read-only mounts", "landlock", "seccomp"),
    IsolationLevel.MEDIUM: ("landlock", "seccomp"),
    IsolationLevel.WEAK: ("limits", "tree"),
}
_NEEDED_BLOCKS = {
    IsolationLevel.STRONG: (*_REACHES_OUT, CROWD, *_OUTLASTS),
    IsolationLevel.MEDIUM: (*_REACHES_OUT, CROWD, *_OUTLASTS),
    IsolationLevel.WEAK: _OUTLASTS,
}


def needed_layers(level: IsolationLevel) -> tuple[str, ...]:
    """Names of the layers without which a level is not reached."""
    return _NEEDED_LAYERS.get(level, ())


def level_of(layers: Iterable[Layer], attacks: Iterable[Attack], allowed: Collection[str] = ()) -> IsolationLevel:
    """The strongest level whose layers all hold and whose attacks all came to nothing.

    Args:
        layers: what was tried.
        attacks: what came of the self-test.
        allowed: attacks that the problem's limits permit, such as the network's.
    """
    on = {layer.name for layer in layers if layer.on}
    blocked = {attack.name for attack in attacks if attack.blocked} | set(allowed)
    for level, names in _NEEDED_LAYERS.items():
        if on.issuperset(names) and blocked.issuperset(_NEEDED_BLOCKS[level]):
            return level
    return IsolationLevel.NONE


NETWORK_ATTACKS = _REACHES_OUT[:4]
MEMORY_ATTACKS = _OUTLASTS[:1]

"""The errors of the library.

EvolveError
├── ProblemError        a problem that cannot be used
├── ConfigurationError  an invalid run configuration
│   └── MissingExtensionError  it names an extension that is not installed
├── ExtensionError      an extension that raised an error, or broke its contract
├── ProgramError        text that is not a program (paths, characters)
├── AnswerError         an answer that does not make a child of its parent
├── ReplayError         an event log that does not fit the search
├── SnapshotError       a snapshot of a search that cannot be made or used
├── RewardError         invalid rewards of answers, or an invalid use of them
└── PolicyError         a policy gave no answer
    ├── PolicyUnavailable   it may answer later: unreachable, overloaded, failing
    ├── PolicyDenied        it refuses this key or does not know this model
    └── PolicyRefused       it refuses this proposal, and would refuse it again
"""

from types import ModuleType


class EvolveError(Exception):
    """Base of every intended error of the library. Its text is one sentence for the user."""


class ProblemError(EvolveError):
    """The problem cannot be used."""


class ConfigurationError(EvolveError):
    """The run configuration is invalid."""


class MissingExtensionError(ConfigurationError):
    """The run configuration names an extension that is not installed."""


class ExtensionError(EvolveError):
    """An extension raised an error, or broke its contract."""


class ProgramError(EvolveError):
    """The text cannot be a program."""


class AnswerError(EvolveError):
    """The answer does not make a child of its parent."""


class ReplayError(EvolveError):
    """The event log does not fit this search."""


class SnapshotError(EvolveError):
    """The snapshot of the search cannot be made, or does not fit it. Its events are replayed in its place."""


class RewardError(EvolveError):
    """The rewards of answers, or the use of them, are invalid."""


class PolicyError(EvolveError):
    """A policy gave no answer."""


class PolicyUnavailable(PolicyError):
    """The policy may answer later.

    Attributes:
        retry_after_seconds: wait before the next try.
    """

    def __init__(self, reason: str, retry_after_seconds: float = 5.0) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class PolicyDenied(PolicyError):
    """The policy refuses the key or does not know the model. The user must correct this."""


class PolicyRefused(PolicyError):
    """The policy refuses this proposal. It may answer others."""


def shadowed(module: ModuleType | None) -> ImportError:
    """The error for a module of the user that hides a package of evolve."""
    name, file = getattr(module, "__name__", ""), getattr(module, "__file__", "")
    return ImportError(
        f"{file} has the name of a package of evolve, {name!r}, and Python finds it first: rename it,"
        " and start Python again",
        name=name,
        path=file,
    )

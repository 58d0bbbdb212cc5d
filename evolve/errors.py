"""The errors of the library.

EvolveError
├── ProblemError        a problem that cannot be searched on
├── ConfigurationError  a run configuration that cannot be honoured
│   └── MissingExtensionError  it names an extension that is not installed
├── ExtensionError      an extension that raised, or returned what it may not
├── ProgramError        text that is not a program (paths, characters)
├── AnswerError         an answer that makes no child of its parent
├── ReplayError         an event log that does not fit the search
├── RewardError         rewards of answers, or a use of them, that make no sense
└── PolicyError         a policy gave no answer
    ├── PolicyUnavailable   it may answer later: unreachable, overloaded, failing
    ├── PolicyDenied        it will not answer anybody with this key or for this model
    └── PolicyRefused       it will not answer this proposal, however often it is asked
"""

from types import ModuleType


class EvolveError(Exception):
    """Base of every error the library raises on purpose; its text is one sentence for the user."""


class ProblemError(EvolveError):
    """The problem cannot be searched on."""


class ConfigurationError(EvolveError):
    """The run configuration cannot be honoured."""


class MissingExtensionError(ConfigurationError):
    """The run configuration names an extension that is not installed."""


class ExtensionError(EvolveError):
    """An extension raised something, or returned what its contract does not allow."""


class ProgramError(EvolveError):
    """The text cannot be a program."""


class AnswerError(EvolveError):
    """The answer makes no child of its parent."""


class ReplayError(EvolveError):
    """The event log does not fit this search."""


class RewardError(EvolveError):
    """The rewards of answers, or what is asked of them, make no sense."""


class PolicyError(EvolveError):
    """A policy gave no answer."""


class PolicyUnavailable(PolicyError):
    """The policy may answer later.

    Attributes:
        retry_after_seconds: when asking again is worth it.
    """

    def __init__(self, reason: str, retry_after_seconds: float = 5.0) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class PolicyDenied(PolicyError):
    """The policy refuses the key or does not know the model: nothing will come until somebody mends that."""


class PolicyRefused(PolicyError):
    """The policy refuses this one proposal; others may be answered."""


def shadowed(module: ModuleType | None) -> ImportError:
    """The error that a module of the user's, which Python takes for a package of ours, is told by."""
    name, file = getattr(module, "__name__", ""), getattr(module, "__file__", "")
    return ImportError(
        f"{file} has the name of a package of evolve, {name!r}, and Python finds it first: rename it,"
        " and start Python again",
        name=name,
        path=file,
    )

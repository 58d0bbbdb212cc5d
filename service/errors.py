"""The errors of the service; one table at each edge maps a class to an exit code or a status.

ServiceError
├── UsageError            the call's words are off
│   └── AmbiguousIdError  an id is too short to tell, or begins several
├── NotFoundError         no such run, candidate, file
│   └── MissingBundleError the queue has lost a problem's folder
├── ConflictError         the state of a thing does not allow it
│   ├── LeaseLostError    another runner took the run
│   ├── StaleError        it was changed since it was read
│   ├── KeyReusedError    an idempotency key came with another request
│   └── InProgressError   the first request with an idempotency key is still at work
├── RefusedError          configuration or safety does not allow it
│   └── QuotaError        the tenant has used up what it may
├── NoRoomError           the disk of this machine is full: no candidate's fault
├── InvalidProblemError   a problem folder that cannot be searched on
├── UnreachableError      the policy or the service does not answer
│   └── HurriedError      it was asked too often: it answers again in a while
└── StorageError          the database cannot take or give: full, locked, newer, away
    └── StorageAwayError  it does not answer, or is busy: it may again
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.errors import ConfigurationError

REQUEST = "the request"  # the layer of a configuration that came with a request


class ServiceError(Exception):
    """Base of every error the service raises on purpose; its text is one sentence that says what to do next."""


class UsageError(ServiceError):
    """The call's words are off."""


class AmbiguousIdError(UsageError):
    """What was given for an id is too short to tell, or begins several."""


class NotFoundError(ServiceError):
    """No such thing."""


class MissingBundleError(NotFoundError):
    """The queue does not have a problem's folder: it was emptied, or the folder expired or was evicted."""

    def __init__(self, bundle_hash: str) -> None:
        super().__init__(f"the queue does not have the problem {bundle_hash[:12]}")


class ConflictError(ServiceError):
    """The state of a thing does not allow it."""


class LeaseLostError(ConflictError):
    """Another runner took the run; this one must stop writing."""


class StaleError(ConflictError):
    """It was changed since it was read."""


class KeyReusedError(ConflictError):
    """An idempotency key came with another request than the first time."""


class InProgressError(ConflictError):
    """The first request with an idempotency key is still at work."""


class RefusedError(ServiceError):
    """Configuration or safety does not allow it."""


class QuotaError(RefusedError):
    """The tenant has used up what it may."""


class NoRoomError(ServiceError):
    """The disk of this machine is full: what fails now may be tried again elsewhere, or later."""


class InvalidProblemError(ServiceError):
    """A problem folder cannot be searched on.

    Attributes:
        complaints: every complaint found, each one sentence.
    """

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = tuple(complaints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationComplaint:
    """One thing that is wrong with a run configuration.

    Attributes:
        layer: where the configuration stood, such as `the request`; empty: not known.
        key: dotted; empty: of the whole.
        detail: one sentence, without the layer.
        place: names that lead through the layer, as it was written, to the value.
    """

    layer: str
    key: str
    detail: str
    place: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The complaint with its layer."""
        return f"{self.layer}: {self.detail}" if self.layer else self.detail


class InvalidConfigurationError(ConfigurationError):
    """A run configuration cannot be honoured: an error of the library, with every complaint.

    Attributes:
        complaints: every complaint found.
        run: number of the run that it is of, where several were asked for together, from 0.
        base: JSON Pointer, in the request, of what holds `config`.
    """

    def __init__(self, complaints: Sequence[ConfigurationComplaint]) -> None:
        super().__init__("; ".join(complaint.sentence for complaint in complaints))
        self.complaints = tuple(complaints)
        self.run = 0
        self.base = ""


class UnreachableError(ServiceError):
    """The policy or the service does not answer."""


class RateLimitedError(UnreachableError):
    """The service was asked too often; it answers again in a while."""


class StorageError(ServiceError):
    """The database cannot take or give."""


class StorageAwayError(StorageError):
    """The database does not answer, or is busy: it may again."""

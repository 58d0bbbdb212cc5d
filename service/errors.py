"""The errors of the service. One table at each edge maps a class to an exit code or a status.

ServiceError
├── UsageError            a word of the call is wrong
│   └── AmbiguousIdError  an id prefix is too short or matches several ids
├── NotFoundError         no such run, candidate or file
│   └── MissingBundleError the queue has lost a problem's folder
├── ConflictError         the state of a resource does not allow the call
│   ├── LeaseLostError    another runner took the run
│   ├── StaleError        the resource changed since it was read
│   ├── KeyReusedError    another request has used this idempotency key
│   └── InProgressError   the first request with this idempotency key is in progress
├── RefusedError          configuration or safety does not allow the call
│   └── QuotaError        the tenant has used up a quota
├── NoRoomError           the disk of this machine is full, which no candidate caused
├── InvalidProblemError   a problem folder that cannot be used
├── CertificateError      a certificate was changed, or does not hold
├── UnreachableError      the policy or the service does not answer
│   └── RateLimitedError  too many requests, so try again later
└── StorageError          the database cannot be read or written: full, locked, newer, away
    └── StorageAwayError  the database does not answer, or is busy, and may answer later
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.errors import ConfigurationError

REQUEST = "the request"  # the layer of a configuration that came with a request


class ServiceError(Exception):
    """Base of every intended error of the service. Its text is one sentence with the error and its cure."""


class UsageError(ServiceError):
    """A word of the call is wrong."""


class AmbiguousIdError(UsageError):
    """An id prefix is too short, or matches several ids."""


class NotFoundError(ServiceError):
    """The resource does not exist."""


class MissingBundleError(NotFoundError):
    """The queue lacks a problem's folder. The queue was emptied, or the folder expired or was evicted."""

    def __init__(self, bundle_hash: str) -> None:
        super().__init__(f"the queue does not have the problem {bundle_hash[:12]}")


class ConflictError(ServiceError):
    """The state of a resource does not allow the call."""


class LeaseLostError(ConflictError):
    """Another runner took the run. This runner must stop writing."""


class StaleError(ConflictError):
    """The resource changed since it was read."""


class KeyReusedError(ConflictError):
    """Another request has used this idempotency key."""


class InProgressError(ConflictError):
    """The first request with this idempotency key is in progress."""


class RefusedError(ServiceError):
    """Configuration or safety does not allow the call."""


class QuotaError(RefusedError):
    """The tenant has used up a quota.

    Attributes:
        retry_seconds: after which another try may succeed.
    """

    def __init__(self, message: str, retry_seconds: int = 60) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class NoRoomError(ServiceError):
    """The disk of this machine is full. Try again on another machine, or later."""


class InvalidProblemError(ServiceError):
    """A problem folder cannot be used.

    Attributes:
        complaints: every complaint, in a sentence each.
    """

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("; ".join(complaints))
        self.complaints = tuple(complaints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationComplaint:
    """A fault of a run configuration.

    Attributes:
        layer: source of the configuration, such as `the request`. Empty: unknown.
        key: dotted key. Empty: the whole configuration.
        detail: the fault in one sentence, without the layer.
        place: names that lead through the layer, as written, to the value.
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
    """A run configuration is invalid: the error of the library, with every complaint.

    Attributes:
        complaints: every complaint found.
        run: number of the run, from 0, if several were requested together.
        base: JSON Pointer in the request to the parent of `config`.
    """

    def __init__(self, complaints: Sequence[ConfigurationComplaint]) -> None:
        super().__init__("; ".join(complaint.sentence for complaint in complaints))
        self.complaints = tuple(complaints)
        self.run = 0
        self.base = ""


class UnreachableError(ServiceError):
    """The policy or the service does not answer."""


class RateLimitedError(UnreachableError):
    """Too many requests to the service. Try again later."""


class StorageError(ServiceError):
    """The database cannot be read or written."""


class StorageAwayError(StorageError):
    """The database does not answer, or is busy. It may answer later."""


class CertificateError(ServiceError):
    """A certificate was changed after it was made, or what it claims does not hold."""

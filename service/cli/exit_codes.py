"""Exit codes of the command line, and the one table of errors that they come from.

0 ok            3 not found    6 service or policy unreachable
1 failed        4 refused      7 target not reached
2 usage         5 conflict     8 problem invalid              130 interrupted
"""

from evolve.errors import (
    ConfigurationError,
    EvolveError,
    PolicyDenied,
    PolicyRefused,
    PolicyUnavailable,
    ProblemError,
)
from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    RefusedError,
    ServiceError,
    StorageError,
    UnreachableError,
    UsageError,
)

OK, FAILED, USAGE, NOT_FOUND, REFUSED, CONFLICT, UNREACHABLE, TARGET_MISSED, INVALID = range(9)
INTERRUPTED = 130

# The first class that an error belongs to decides.
OUTCOMES: tuple[tuple[type[BaseException], int, str], ...] = (
    (UsageError, USAGE, "usage"),
    (ConfigurationError, USAGE, "usage"),
    (NotFoundError, NOT_FOUND, "not_found"),
    (ConflictError, CONFLICT, "conflict"),
    (RefusedError, REFUSED, "refused"),
    (InvalidProblemError, INVALID, "problem_invalid"),
    (ProblemError, INVALID, "problem_invalid"),
    (UnreachableError, UNREACHABLE, "unreachable"),
    (PolicyUnavailable, UNREACHABLE, "unreachable"),
    (PolicyDenied, REFUSED, "refused"),
    (PolicyRefused, REFUSED, "refused"),
    (StorageError, FAILED, "storage"),
    (ServiceError, FAILED, "failed"),
    (EvolveError, FAILED, "failed"),
    (FileNotFoundError, NOT_FOUND, "not_found"),
    (PermissionError, REFUSED, "refused"),
    (OSError, FAILED, "failed"),
    (MemoryError, FAILED, "failed"),
    (KeyboardInterrupt, INTERRUPTED, "interrupted"),
)


def outcome(error: BaseException) -> tuple[int, str]:
    """Exit code and name of an error."""
    return next(((code, name) for kind, code, name in OUTCOMES if isinstance(error, kind)), (FAILED, "internal"))

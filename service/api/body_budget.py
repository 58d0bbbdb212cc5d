"""Memory for the bodies of requests: how many bytes of them one process reads and holds at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code

# What almost every request fits into; these are not counted, so that large ones delay none of them.
UNCOUNTED_BYTES = 64 * 1024
# Of bodies that anybody may send, with a key or without.
SMALL_TOTAL_BYTES = 32 * 1024 * 1024
RETRY_SECONDS = 5


class BodyBudget:
    """Bytes that the bodies of one kind may have together.

    A body is parsed in memory, where it takes about four times its size. Each is bounded, and so is their sum.

    Args:
        total_bytes: how many there may be at once.
    """

    def __init__(self, total_bytes: int) -> None:
        self._left = total_bytes

    @contextmanager
    def open(self) -> Iterator["BodyReservation"]:
        """A reservation for one body, given back at the end of the block."""
        reservation = BodyReservation(self)
        try:
            yield reservation
        finally:
            self._left += reservation.size

    def take(self, size: int) -> None:
        """Reserve bytes.

        Raises:
            ApiFault: so many are not left.
        """
        if size > self._left:
            detail = "other large bodies are being read, and there is no memory for this one now"
            headers = {"Retry-After": str(RETRY_SECONDS)}
            raise ApiFault(503, Code.UNAVAILABLE, f"{detail}: send it again as Retry-After says", headers=headers)
        self._left -= size


class BodyReservation:
    """What one body has of a budget.

    Attributes:
        size: bytes that it has.
    """

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.size = 0

    def grow(self, size: int) -> None:
        """Reserve what a body of a size needs beyond what it has.

        Raises:
            ApiFault: so many bytes are not left.
        """
        if size > max(self.size, UNCOUNTED_BYTES):
            self._budget.take(size - self.size)
            self.size = size

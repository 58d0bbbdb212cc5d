"""Health, readiness and the meaning of errors on the wire."""

from typing import Literal

from service.schemas.problem_details import Code
from service.schemas.types import Reply


class Health(Reply):
    """The process lives."""

    status: Literal["ok"]
    version: str


class Readiness(Reply):
    """Whether everything that serving needs answers: `ok`, or why not, by name."""

    status: Literal["ready", "not_ready"]
    checks: dict[str, str]


class CodePage(Reply):
    """What a code of an error means and what to do."""

    code: Code
    meaning: str

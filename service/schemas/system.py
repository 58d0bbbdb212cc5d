"""Health, readiness and the meaning of errors on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.problem_details import Code
from service.schemas.types import Reply


class Health(Reply):
    """The process lives."""

    status: Literal["ok"] = Field(description="`ok`: the process answers")
    version: str = Field(description="Version of the software")


class Readiness(Reply):
    """Whether requests can be answered, and how each part fares."""

    status: Literal["ready", "not_ready"] = Field(description="`not_ready` if the service cannot use the database")
    checks: dict[str, str] = Field(
        description="`ok` or the fault, by part. If `queue` fails, requests are answered and runs wait"
    )


class Identity(Reply):
    """A service's proof that it knows a key."""

    proof: str = Field(description="HMAC-SHA256 of the challenge and the address of the service, 64 hex digits")


class CodePage(Reply):
    """The meaning of an error code, and its cure."""

    code: Code = Field(description="The code")
    meaning: str = Field(description="Meaning and cure")

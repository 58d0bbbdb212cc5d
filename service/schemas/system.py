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

    status: Literal["ready", "not_ready"] = Field(description="`not_ready` where the database cannot be served from")
    checks: dict[str, str] = Field(
        description="`ok`, or what is wrong, by part. Without `queue` requests are answered, and runs wait"
    )


class Identity(Reply):
    """That a service is the one whose key somebody knows."""

    proof: str = Field(description="HMAC-SHA256 of the challenge and the address of the service, 64 hex digits")


class CodePage(Reply):
    """What a code of an error means and what to do."""

    code: Code = Field(description="The code")
    meaning: str = Field(description="What it means and what to do")

"""Sessions on the wire."""

from pydantic import Field, SecretStr

from service.schemas.types import Request


class SessionCreate(Request):
    """A session, opened with a key."""

    key: SecretStr = Field(max_length=200, description="An API key")

"""Requests made of what a user wrote: what does not fit the API is said before it is sent."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from service.errors import UsageError
from service.schemas.error_location import place_of

Request = TypeVar("Request", bound=BaseModel)


def checked(model: type[Request], **values: Any) -> Request:
    """A request of some values.

    Raises:
        UsageError: one of them does not fit; the text names it.
    """
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in place_of(first, values))
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{place}: {message[0].lower()}{message[1:]}") from None

"""Requests made from user input. Faults are reported before sending."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from service.errors import UsageError
from service.schemas.error_location import place_of
from service.schemas.validation_messages import message_of

Request = TypeVar("Request", bound=BaseModel)


def checked(model: type[Request], /, **values: Any) -> Request:
    """A request of some values.

    Raises:
        UsageError: a value is invalid. The text names it.
    """
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in place_of(first, values))
        field = model.model_fields.get(str(first["loc"][0])) if first["loc"] else None
        message = message_of(first, (field.description if field else None) or "")
        raise UsageError(f"{place}: {message[0].lower()}{message[1:]}") from None

"""Values with arrays of numbers in them as compressed bytes: JSON, and behind it the arrays as they lie in memory."""

import json
import sys
import zlib
from array import array
from typing import Any

# Arrays of a machine whose numbers begin at the other end are not read here.
BYTE_ORDER = sys.byteorder
_LEVEL = 1  # twice as fast as more, and hardly larger
_ARRAY = "array"
_LENGTH = 8


class UnreadableError(ValueError):
    """Bytes hold no value that this module wrote."""


def encode(value: object) -> bytes:
    """Lists, dicts, texts, numbers and arrays as bytes; no dict may have the one key `array`."""
    parts: list[bytes] = []

    def place(found: object) -> object:
        if not isinstance(found, array):
            raise TypeError(f"a {type(found).__name__} has no form in JSON")
        parts.append(found.tobytes())
        return {_ARRAY: [found.typecode, len(parts[-1])]}

    text = json.dumps(value, default=place, separators=(",", ":")).encode()
    return zlib.compress(b"".join([len(text).to_bytes(_LENGTH), text, *parts]), _LEVEL)


def decode(content: bytes) -> Any:
    """What was encoded; tuples have become lists.

    Raises:
        UnreadableError: it was not.
    """
    try:
        raw = zlib.decompress(content)
        place = _LENGTH + int.from_bytes(raw[:_LENGTH])

        def found(entry: dict[str, Any]) -> Any:
            nonlocal place
            if entry.keys() != {_ARRAY}:
                return entry
            typecode, size = entry[_ARRAY]
            numbers: array[Any] = array(typecode)
            numbers.frombytes(raw[place : place + size])
            place += size
            return numbers

        return json.loads(raw[_LENGTH:place], object_hook=found)
    except (zlib.error, ValueError, TypeError) as error:
        raise UnreadableError("these bytes hold no value with arrays") from error

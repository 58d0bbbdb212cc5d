"""Texts packed as LiveCodeBench publishes them: base64 of zlib of a pickle of one text. No pickle is executed here."""

import base64
import binascii
import pickletools
import zlib
from collections.abc import Iterator

MAX_BYTES = 256 * 1024 * 1024  # unpacked
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
# What frames a text, or remembers it for a later use that there is not.
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def unpack_text(packed: str) -> str:
    """The text that a packed text holds.

    The pickle is read as a list of instructions, which are not carried out. It may hold one text and nothing else.

    Raises:
        ValueError: it is not packed so, holds anything but one text, or is too large; the message says which.
    """
    texts = list(_texts(_unzipped(packed)))
    if len(texts) != 1:
        raise ValueError(f"its pickle holds {len(texts)} texts instead of one")
    return texts[0]


def _unzipped(packed: str) -> bytes:
    try:
        compressed = base64.b64decode(packed, validate=True)
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(compressed, MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValueError("it is neither JSON nor base64 of zlib") from error
    if not unpacking.eof:
        raise ValueError(f"it ends early, or unpacks to more than {MAX_BYTES >> 20} MB")
    return content


def _texts(pickled: bytes) -> Iterator[str]:
    try:
        for operation, argument, _ in pickletools.genops(pickled):
            if operation.name in _TEXTS:
                yield str(argument)
            elif operation.name not in _HARMLESS:
                raise ValueError(f"its pickle holds more than a text ({operation.name}), which could run code")
    except (ValueError, IndexError) as error:
        raise ValueError(str(error)[:100]) from error

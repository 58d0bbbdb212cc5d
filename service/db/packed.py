"""Texts and JSON in few bytes: deflated with a dictionary of what they have in common.

Stored is a tag and the bytes: 0 for the text itself in UTF-8, 1 for the text deflated with the first dictionary, 2 for
the text deflated with another text as its dictionary. A dictionary and its tag stand in databases, so neither is ever
changed; a better dictionary gets a tag of its own.
"""

import json
import re
import zlib
from typing import Any

from pydantic_core import to_json
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from service.db.binary import Binary
from service.db.driver_errors import UnstorableError

# What is unpacked at most, as much as a line of a backup may hold: no hostile file fills the memory.
MAX_BYTES = 256 * 1024 * 1024
_PLAIN, _DEFLATED, _AGAINST_BASE = 0, 1, 2
_MIN_BYTES = 24  # shorter ones do not become shorter
_LEVEL = 6
_WINDOW_BITS = -15
# The beginning of a small text is found in a small table as well, and that is made in a tenth of the time.
_SMALL_BYTES = 2_000
_SMALL_WINDOW_BITS, _SMALL_MEMORY = -12, 4
# A run of hex digits is stored as this plus the number of its bytes, and the bytes.
_ESCAPE = 0x80
_FEWEST, _MOST = 8, 16
_DIGITS = re.compile(rb"(?:[0-9a-f]{2}){%d,%d}" % (_FEWEST, _MOST))
_BYTES = re.compile(b"|".join(b"%c.{%d}" % (_ESCAPE + n, n) for n in range(_FEWEST, _MOST + 1)), re.DOTALL)
# ASCII only: escapes carry NUL and lone surrogates through both databases. What holds others, DEL or a number that JSON
# cannot say, is left to this encoder: pydantic's writes them differently, in a tenth of the time.
_WRITTEN_DIFFERENTLY = re.compile("NaN|Infinity|\x7f")
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
# What comes first is most likely to be of use far from the end of the window: what is frequent stands last.
_DICTIONARY = (
    b"import numpy as np\\nimport math\\nimport random\\nfrom typing import \\n\\n# EVOLVE-BLOCK-START\\n"
    b"# EVOLVE-BLOCK-END\\n\\n\\ndef __init__(self, \\n    def \\n        self.\\n        return \\n    return \\n"
    b"    for i in range(len(\\n        for j in range(\\n            if \\n    if \\n    else:\\n    elif \\n"
    b"    while True:\\n        break\\n        continue\\n    try:\\n    except Exception:\\n        pass\\n"
    b"    raise ValueError(\\n    lambda x: np.array([[0.0, 1.0]]) None True False not in and or is append( += 1\\n"
    b'```python\\n```\\n<answer_1>\\n</answer_1>\\n<answer_2>\\n</answer_2>\\n[\\"program.py\\",\\"'
    b'"reason":"","detail":"","since":"","retry_at":null,"limits":{},"by":"'
    b'{"from":0,"to":1,"candidate_ids":["cnd_{"objective":null,"best":'
    b'{"proposal_number":1,"proposal_id":"prp_","island":0,"operator":"mutate","crossover","probability":1.0,'
    b'"selection":"power_law","weights":[],"rationale":{"rank":0},"parents":[["cnd_","parent"],["cnd_","inspiration"]],'
    b'"failures":[],"rejections":[],"policy":"","seed":0,"answers":4,"samples":1,"limit":4,"form":{"format":"tags:answer",'
    b'"edits":"rewrite","answers":4,"samples":1}}'
    b'{"proposal_number":1,"answers":4,"dropped":0,"drops":{},"tokens":{"input":0,"cached":0,"output":0},"cost":null,'
    b'"seconds":0.0}'
    b'{"candidate_id":"cnd_","of":"cnd_"}{"candidate_id":"cnd_","proposal_number":1,"position":0,"island":0,'
    b'"reason":"","parents":[["cnd_'
    b'{"candidate_id":"cnd_","island":0,"status":"dominated","displaced":[]}'
    b'{"candidate_id":"cnd_","island":0,"status":"new_cell","improved","added","displaced":["cnd_"]}'
    b'{"candidate_id":"cnd_","outcome":"invalid","error","timeout","outcome":"ok","fitness":null,"fitness":0.0,'
    b'"scores":{"value":0.0},"measures":{},"seconds":0.0,"attempt":1}'
    b'{"candidate_id":"cnd_","proposal_number":1,"position":0,"island":0,"program_id":"pgm_","fingerprint":"'
)


class PackedText(TypeDecorator[str]):
    """A column of texts, NUL and lone surrogates included. The database cannot compare or search them."""

    impl = Binary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Pack a text."""
        return None if value is None else pack(value.encode("utf-8", "surrogatepass"))

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Unpack a text."""
        return None if value is None else unpack(value).decode("utf-8", "surrogatepass")


class PackedJson(TypeDecorator[Any]):
    """A column of JSON that the database cannot look into; None is null."""

    impl = Binary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Pack a value."""
        return None if value is None else pack_json(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:  # noqa: ARG002 -- SQLAlchemy's signature
        """Unpack a value."""
        return None if value is None else unpack_json(value)


def as_json(value: object) -> str:
    """A value as columns of JSON hold it, in a text or packed.

    Raises:
        UnstorableError: JSON cannot say it.
    """
    try:
        text = to_json(value).decode()
    except ValueError:  # a lone surrogate
        text = ""
    if text and text.isascii() and not _WRITTEN_DIFFERENTLY.search(text):
        return text
    try:
        return _ENCODER.encode(value)
    except ValueError as error:
        raise UnstorableError(str(error)) from error


def pack_json(value: object) -> bytes:
    """The bytes to store for JSON; hex digits of ids become bytes, which are none of ASCII's.

    Raises:
        UnstorableError: it is, or holds, what JSON has not.
    """
    return pack(_DIGITS.sub(_as_bytes, as_json(value).encode()))


def unpack_json(stored: object) -> Any:
    """The JSON that bytes stand for.

    Raises:
        ValueError: they are none that `pack_json` made.
    """
    return json.loads(_BYTES.sub(_as_digits, unpack(stored)), parse_constant=_refuse_constant)


def pack(text: bytes) -> bytes:
    """The bytes to store for a text."""
    if len(text) >= _MIN_BYTES:
        packed = _deflated(text, _DICTIONARY, small=len(text) <= _SMALL_BYTES)
        if len(packed) < len(text):
            return bytes((_DEFLATED,)) + packed
    return bytes((_PLAIN,)) + text


def pack_against(text: bytes, base: bytes) -> bytes:
    """The bytes to store for a text that has much in common with another, its base."""
    return bytes((_AGAINST_BASE,)) + _deflated(text, base, small=False)


def unpack(stored: object, base: bytes | None = None) -> bytes:
    """The text that bytes stand for.

    Args:
        stored: what `pack` or `pack_against` made.
        base: the text that it was packed against.

    Raises:
        ValueError: the bytes are damaged, or of more than a row may hold.
    """
    if not isinstance(stored, bytes) or not stored:
        raise ValueError("a text is not stored in bytes")
    if stored[0] == _PLAIN:
        return stored[1:]
    dictionary = {_DEFLATED: _DICTIONARY, _AGAINST_BASE: base}.get(stored[0])
    if dictionary is None:
        raise ValueError("a text is packed in an unknown form, or its base is missing")
    unpacker = zlib.decompressobj(_WINDOW_BITS, dictionary)
    try:
        text = unpacker.decompress(memoryview(stored)[1:], MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"a packed text is damaged: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("a packed text was cut, or is too long")
    return text


def _deflated(text: bytes, dictionary: bytes, *, small: bool) -> bytes:
    bits, memory = (_SMALL_WINDOW_BITS, _SMALL_MEMORY) if small else (_WINDOW_BITS, zlib.DEF_MEM_LEVEL)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, bits, memory, zlib.Z_DEFAULT_STRATEGY, dictionary)
    return packer.compress(text) + packer.flush()


def _as_bytes(found: re.Match[bytes]) -> bytes:
    digits = bytes.fromhex(found[0].decode())
    return bytes((_ESCAPE + len(digits),)) + digits


def _as_digits(found: re.Match[bytes]) -> bytes:
    return found[0][1:].hex().encode()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")

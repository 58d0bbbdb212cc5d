"""Texts and JSON in few bytes: deflated with a dictionary of what they have in common.

Stored is a tag and the bytes: 0 for the text itself in UTF-8, 1 for the text deflated with the first dictionary, 2 for
the text deflated with another text as its dictionary. The tag 3 belongs to `service.db.completions`. A dictionary and
its tag stand in databases, so neither is ever changed; a better dictionary gets a tag of its own.
"""

import json
import re
import zlib
from binascii import hexlify, unhexlify
from typing import Any

from pydantic_core import from_json, to_json

from service.db.binary import Binary
from service.db.driver_errors import DamagedRowError, UnstorableError
from service.db.encoded_type import EncodedType

# What is unpacked at most, as much as a line of a backup may hold: no hostile file fills the memory.
MAX_BYTES = 256 * 1024 * 1024
_PLAIN, _DEFLATED, _AGAINST_BASE = 0, 1, 2
_MIN_BYTES = 24  # shorter ones do not become shorter
_LEVEL = 6
_WINDOW_BITS = -15
_MARGIN = 262  # that a window keeps for itself
_SMALL_BYTES = 2_000
# The digits of an id in JSON are stored as a byte that is none of ASCII's, and their bytes.
_DIGITS = re.compile(rb'([_"])([0-9a-f]{32}|[0-9a-f]{20})')
_ESCAPES = {10: b"\x8a", 16: b"\x90"}
_BYTES = re.compile(rb"\x8a.{10}|\x90.{16}", re.DOTALL)
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
# Most texts are small, and a copy of this one is made in less time than another.
_SMALL = zlib.compressobj(_LEVEL, zlib.DEFLATED, -12, 4, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)


def as_json(value: object) -> str:
    """A value as columns of JSON hold it, in a text or packed; the files of a program always as the same text.

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


def from_text(text: str | bytes) -> Any:
    """The value of a column of JSON."""
    try:
        return from_json(text)
    except ValueError:  # a lone surrogate, or nested deeper than this parser goes
        return json.loads(text)


def pack_json(value: object) -> bytes:
    """The bytes to store for JSON, a short one with the digits of ids as bytes.

    Raises:
        UnstorableError: it is, or holds, what JSON has not.
    """
    text = as_json(value).encode()
    return pack(_DIGITS.sub(_as_bytes, text) if len(text) <= _SMALL_BYTES else text)


def unpack_json(stored: object, base: bytes | None = None) -> Any:
    """The JSON that bytes stand for.

    Args:
        stored: what `pack_json` made, or `pack_against` of JSON.
        base: the text that it was packed against.

    Raises:
        DamagedRowError: the bytes are damaged, or no JSON.
    """
    text = unpack(stored, base)
    return read_json(text if text.isascii() else _BYTES.sub(_as_digits, text))


def read_json(text: bytes) -> Any:
    """What JSON in a text says.

    Raises:
        DamagedRowError: it is none.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        pass  # it may still be JSON: see `from_text`
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedRowError("a packed text is not JSON") from error


def unpack_text(stored: object) -> str:
    """The text that bytes stand for, NUL and lone surrogates included.

    Raises:
        DamagedRowError: they are none that `pack` made of such a text.
    """
    try:
        return unpack(stored).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamagedRowError("a packed text is not UTF-8") from error


def pack_text(text: str) -> bytes:
    """The bytes to store for a text, NUL and lone surrogates included."""
    return pack(text.encode("utf-8", "surrogatepass"))


def pack(text: bytes) -> bytes:
    """The bytes to store for a text; one that is longer than what is unpacked stays as it is."""
    if _MIN_BYTES <= len(text) < MAX_BYTES:
        packed = _deflated(text, _DICTIONARY)
        if len(packed) < len(text):
            return bytes((_DEFLATED,)) + packed
    return bytes((_PLAIN,)) + text


def pack_against(text: bytes, base: bytes) -> bytes:
    """The bytes to store for a text that has much in common with another, its base."""
    return bytes((_AGAINST_BASE,)) + _deflated(text, base)


def unpack(stored: object, base: bytes | None = None) -> bytes:
    """The text that bytes stand for.

    Args:
        stored: what `pack` or `pack_against` made.
        base: the text that it was packed against.

    Raises:
        DamagedRowError: the bytes are damaged, or of more than a row may hold.
    """
    if not isinstance(stored, bytes) or not stored:
        raise DamagedRowError("a text is not stored in bytes")
    if stored[0] == _PLAIN:
        return stored[1:]
    dictionary = {_DEFLATED: _DICTIONARY, _AGAINST_BASE: base}.get(stored[0])
    if dictionary is None:
        raise DamagedRowError("a text is packed in an unknown form, or its base is missing")
    unpacker = zlib.decompressobj(_WINDOW_BITS, dictionary)
    try:
        text = unpacker.decompress(memoryview(stored)[1:], MAX_BYTES)
    except zlib.error as error:
        raise DamagedRowError(f"a packed text cannot be unpacked ({error})") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedRowError("a packed text was cut, or is too long")
    return text


class PackedText(EncodedType[str]):
    """A column of texts, NUL and lone surrogates included. The database cannot compare or search them."""

    impl = Binary
    cache_ok = True
    encode, decode = staticmethod(pack_text), staticmethod(unpack_text)


class PackedJson(EncodedType[Any]):
    """A column of JSON that the database cannot look into; None is null."""

    impl = Binary
    cache_ok = True
    encode, decode = staticmethod(pack_json), staticmethod(unpack_json)


def _deflated(text: bytes, dictionary: bytes) -> bytes:
    if dictionary is _DICTIONARY and len(text) <= _SMALL_BYTES:
        packer = _SMALL.copy()
    else:
        packer = _packer(dictionary, max(len(dictionary), len(text)))
    return packer.compress(text) + packer.flush()


def _packer(dictionary: bytes, reach: int) -> "zlib._Compress":
    """Deflates with a dictionary, by a window that reaches back so far: a larger one takes longer to be made."""
    bits = min(max((reach + _MARGIN).bit_length(), 9), 15)
    memory = min(bits - 7, zlib.DEF_MEM_LEVEL)
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, -bits, memory, zlib.Z_DEFAULT_STRATEGY, dictionary)


def _as_bytes(found: re.Match[bytes]) -> bytes:
    digits = unhexlify(found[2])
    return found[1] + _ESCAPES[len(digits)] + digits


def _as_digits(found: re.Match[bytes]) -> bytes:
    return hexlify(found[0][1:])


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")

"""Ids in few bytes, as the tables that grow with a run store them.

An id of one of the forms below is stored as a tag and the bytes of its hex digits; that of a candidate is followed by
its two numbers, seven bits a byte. Any other text stands as it is behind the tag 0. So every id comes back as it went
in, and ids of one form are in the order of their texts. The forms are those of databases: none is ever changed, and a
new one comes with a revision that rewrites the ids that have it.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from service.db.binary import Binary
from service.db.driver_errors import DamagedRowError
from service.db.encoded_type import EncodedType

_PLAIN = b"\x00"
_CACHED = 32_768  # of a batch and those before it: an id stands in several tables
_MAX_CACHED = 64  # characters or bytes of an id: what people give for one may be of any length
_MAX_NUMBERS = 10  # bytes of the two of a candidate
_HEX = re.compile(r"[0-9a-f]*", re.ASCII)
_NUMBER = "(0|[1-9][0-9]{0,8})"
_UUID = "([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})"


class _IdForm(NamedTuple):
    tag: int
    prefix: str
    digits: int
    pattern: re.Pattern[str]


def _form(tag: int, prefix: str, digits: int, body: str) -> _IdForm:
    return _IdForm(tag, prefix, digits, re.compile(prefix + body, re.ASCII))


_RUN = _form(1, "run_", 32, _UUID)
_CANDIDATE = _form(3, "cnd_", 20, f"([0-9a-f]{{20}})_{_NUMBER}_{_NUMBER}")
_FORMS = (
    _RUN,
    _form(2, "run_", 32, "([0-9a-f]{32})"),
    _CANDIDATE,
    _form(4, "cnd_", 32, "([0-9a-f]{32})"),  # of the first versions
    _form(5, "pgm_", 32, "([0-9a-f]{32})"),
    _form(6, "prp_", 32, "([0-9a-f]{32})"),
    _form(7, "", 32, "([0-9a-f]{32})"),
)
_BY_TAG = {form.tag: form for form in _FORMS}


def encode_id(text: str) -> bytes:
    """The bytes that stand for an id."""
    return _encoded(text) if len(text) <= _MAX_CACHED else encode_plain(text)


def decode_id(stored: object) -> str:
    """The id that bytes stand for.

    Raises:
        DamagedRowError: they are none that `encode_id` made.
    """
    if not isinstance(stored, bytes) or not stored:
        raise DamagedRowError("an id is not stored in bytes")
    return _decoded(stored) if len(stored) <= _MAX_CACHED else _decode(stored)


@lru_cache(maxsize=_CACHED)
def _encoded(text: str) -> bytes:
    for form in _FORMS:
        if text.startswith(form.prefix) and (found := form.pattern.fullmatch(text)):
            if form is _CANDIDATE:
                return bytes((form.tag,)) + bytes.fromhex(found[1]) + _number(int(found[2])) + _number(int(found[3]))
            return bytes((form.tag,)) + bytes.fromhex("".join(found.groups()))
    return _PLAIN + text.encode("utf-8", "surrogatepass")


def _decode(stored: bytes) -> str:
    if stored[:1] == _PLAIN:
        try:
            return stored[1:].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DamagedRowError("an id is no text") from error
    form = _BY_TAG.get(stored[0])
    size = 0 if form is None else 1 + form.digits // 2
    digits = stored[1:size].hex()
    if form is None or len(stored) < size or (len(stored) > size) != (form is _CANDIDATE):
        raise DamagedRowError("the bytes of an id are of no known form")
    if form is _RUN:
        digits = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    tail = "" if form is not _CANDIDATE else "_{}_{}".format(*_numbers(stored[size:]))
    return f"{form.prefix}{digits}{tail}"


_decoded = lru_cache(maxsize=_CACHED)(_decode)


class CompactId(EncodedType[str]):
    """A column of ids. Compare it with ids as texts; `ranges` finds those with a beginning."""

    impl = Binary
    cache_ok = True
    encode, decode = staticmethod(encode_id), staticmethod(decode_id)


def is_whole(text: str) -> bool:
    """Whether a text is an id of one of the forms, with nothing missing."""
    return not encode_id(text).startswith(_PLAIN)


def ranges(beginning: str) -> list[tuple[bytes, bytes]]:
    """Ranges of stored ids, from the first bytes up to but without the second, that hold all that begin so.

    Others may lie in them too: compare the texts of what is found.
    """
    plain = encode_plain(beginning)
    found = [(plain, plain + b"\xff")]  # no text has that byte
    for form in _FORMS:
        if form.prefix.startswith(beginning):
            found.append((bytes((form.tag,)), bytes((form.tag + 1,))))
        elif beginning.startswith(form.prefix):
            body = beginning[len(form.prefix) :]
            body = body.replace("-", "") if form is _RUN else body
            digits = _HEX.match(body)[0][: form.digits]  # type: ignore[index]  # it matches the empty text too
            if len(digits) in (len(body), form.digits):
                left = 4 * (form.digits - len(digits))
                low = (form.tag << 4 * form.digits) + (int(digits or "0", 16) << left)
                size = 1 + form.digits // 2
                found.append((low.to_bytes(size, "big"), (low + (1 << left)).to_bytes(size, "big")))
    return found


def encode_plain(text: str) -> bytes:
    """The bytes of a text that has none of the forms."""
    return _PLAIN + text.encode("utf-8", "surrogatepass")


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(0x80 | value & 0x7F)
        value >>= 7
    found.append(value)
    return bytes(found)


def _numbers(stored: bytes) -> tuple[int, int]:
    found, value, shift = list[int](), 0, 0
    for byte in stored:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    if len(found) != 2 or shift or len(stored) > _MAX_NUMBERS:
        raise DamagedRowError("the numbers of a candidate's id cannot be read")
    return found[0], found[1]

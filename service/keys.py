"""API keys and share tokens as texts: how they are made, what is stored of them, what of them may be shown."""

import secrets
import string
import zlib
from dataclasses import dataclass, field

from service.signer import Signer

KEY, SHARE = "evo", "evs"
UNKNOWN = "the key is unknown or void: check it, or ask for another"
FOREIGN = (
    "the key was made with another api.secret than this service has: whoever operates it must start it with the"
    " api.secret of the installation that the key was made in"
)
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM, _CHECK, _SHOWN = 37, 6, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new key: `text` is shown once, `shown` may be seen again, `hash` is stored."""

    text: str = field(repr=False)
    shown: str
    hash: str


def mint(signer: Signer, prefix: str = KEY) -> NewKey:
    """Make a key: its prefix, 37 random characters (220 bits), and a checksum that tells slips from strangers."""
    body = f"{prefix}_" + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM))
    text = body + _checksum(body)
    return NewKey(text=text, shown=beginning(text), hash=digest(signer, text))


def well_formed(text: str) -> bool:
    """Whether a text could be a key or a share: nothing need be looked up for one that cannot."""
    prefix, _, rest = text.partition("_")
    if prefix not in (KEY, SHARE) or len(rest) != _RANDOM + _CHECK or not rest.isascii() or not rest.isalnum():
        return False
    return _checksum(text[:-_CHECK]) == text[-_CHECK:]


def beginning(text: str) -> str:
    """What may be shown of a key: its prefix and 8 characters."""
    return text[: text.index("_") + 1 + _SHOWN]


def digest(signer: Signer, text: str) -> str:
    """What is stored and looked up of a key."""
    return signer.digest("api-key", text)


def identity_proof(key: str, url: str, challenge: str) -> str:
    """What only somebody who knows a key can answer to a challenge, at one address."""
    return Signer(key).digest("identity", f"{challenge} {url}")


def _checksum(body: str) -> str:
    number, letters = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return letters

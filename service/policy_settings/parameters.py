"""Further parameters of requests: JSON values that a user sets, passed to the server as they are, within bounds."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.errors import UsageError

MAX_KEYS = 64
MAX_CHARACTERS = 16_384  # of all of them, as JSON
MAX_DEPTH = 8

_OWN_KEYS = ("temperature", "top_p", "max_tokens", "reasoning_effort")
_REFUSED = {
    "model": "the key model names it",
    "messages": "Evolve writes the prompt",
    "n": "the key samples is n",
    "seed": "each proposal has a seed of its own",
    "stream": "answers are taken as they are written",
    "stream_options": "Evolve asks for the tokens itself",
    "max_completion_tokens": "set max_tokens: it is renamed where the server wants that",
    **dict.fromkeys(_OWN_KEYS, "it is a key of its own: set it beside params"),
}
_SECRETS = frozenset({
    "apikey", "xapikey", "key", "authorization", "proxyauthorization", "password", "secret", "clientsecret", "token",
    "accesstoken", "authtoken", "bearer", "credentials",
})  # fmt: skip


def read_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Check parameters that go into the body of every request.

    Raises:
        ValueError: one is set by Evolve itself, looks like a secret or is not a JSON value, or they are too large.
    """
    for key in values:
        if key in _REFUSED:
            raise ValueError(f"{key[:64]} cannot be set here: {_REFUSED[key]}")
    for key in _keys(values, MAX_DEPTH):
        if "".join(letter for letter in key.lower() if letter.isalnum()) in _SECRETS:
            raise ValueError(f"{key[:64]} looks like a secret: a key goes into api_key_env or api_key_file")
    if len(values) > MAX_KEYS:
        raise ValueError(f"there are {len(values)} parameters: {MAX_KEYS} at most are sent")
    if len(json.dumps(values)) > MAX_CHARACTERS:
        raise ValueError(f"the parameters are longer than {MAX_CHARACTERS} characters of JSON: send fewer")
    return values


def parse_words(words: Sequence[str]) -> dict[str, Any]:
    """Parameters as they are named on a command line, `KEY=VALUE`; a value is JSON, else text.

    Raises:
        UsageError: a word has no `=`.
    """
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise UsageError(f"--param {word[:80]} names no value: write KEY=VALUE, such as --param temperature=0.5")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def _keys(value: object, depth: int) -> Iterator[str]:
    """Every key of a value; what is not JSON value is refused on the way."""
    if depth == 0:
        raise ValueError(f"the parameters are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not (isinstance(key, str) and key.isprintable() and key):
                raise ValueError("the name of a parameter must be printable text")
            yield key
            yield from _keys(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, depth - 1)
    elif not (
        value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    ):
        raise ValueError("the parameters hold a value that JSON has no word for: use numbers, texts, lists and tables")

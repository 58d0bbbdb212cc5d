"""The tokens that a request may still ask for: its own limit is lowered to what its session has left."""

import json
from typing import Any

# By the protocols of OpenAI (chat completions and completions, then responses), Anthropic and Gemini.
_NAMED = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ADDED = {"/responses": "max_output_tokens", "/messages": "max_tokens"}
_GEMINI, _GEMINI_LIMIT = (":generateContent", ":streamGenerateContent"), "maxOutputTokens"


def capped_request(body: bytes, path: str, room: int | None) -> bytes:
    """A body whose reply is no longer than its session has tokens for, as far as its protocol has a key for that.

    A chat completion without a limit stays without one: servers differ in the key that they take.

    Args:
        body: of the request; what is no JSON object stays as it is.
        path: of the request, without its query.
        room: output tokens that are left; None: there is no limit.
    """
    if room is None:
        return body
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(asked, dict):
        return body
    most = max(1, room)
    if path.endswith(_GEMINI):
        changed = _lower_gemini(asked, most)
    else:
        lowered = [_lower(asked, key, most) for key in _NAMED if key in asked]
        changed = any(lowered)
        for ending, key in _ADDED.items():
            if path.endswith(ending) and key not in asked:
                asked[key], changed = most, True
    return json.dumps(asked).encode() if changed else body


def _lower(values: dict[str, Any], key: str, most: int) -> bool:
    found = values[key]
    if isinstance(found, int) and not isinstance(found, bool) and found <= most:
        return False
    values[key] = most
    return True


def _lower_gemini(asked: dict[str, Any], most: int) -> bool:
    """Gemini also takes the snake case of its keys."""
    options = asked.get("generationConfig", asked.get("generation_config"))
    options = options if isinstance(options, dict) else {}
    key = "max_output_tokens" if "max_output_tokens" in options else _GEMINI_LIMIT
    options.setdefault(key, most)
    _lower(options, key, most)
    asked.pop("generation_config", None)
    asked["generationConfig"] = options
    return True

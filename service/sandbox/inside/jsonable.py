"""What a program returned, as JSON can carry it."""

import base64
import io
import json
from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 200
_MAX_VIEW = 352 * 1024  # 256 KB as base64, and its address


class NotJsonError(Exception):
    """The value has no JSON form."""


def jsonable(value: Any, depth: int = 0) -> Any:
    """The value as JSON's kinds; numpy's numbers and arrays become numbers and lists, tuples become lists.

    Raises:
        NotJsonError: JSON cannot carry it; the text says why.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if depth > _MAX_DEPTH:
        raise NotJsonError("it is nested too deeply, or holds itself")
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return {_key(key): jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item, depth + 1) for item in value]
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        plain = value.tolist()
        if type(plain) is not type(value):
            return jsonable(plain, depth + 1)
    if isinstance(value, bytes | bytearray | memoryview):
        raise NotJsonError("it holds bytes, which JSON cannot carry: use list(data), data.hex() or text")
    raise NotJsonError(
        f"it holds a {type(value).__name__}, which JSON cannot carry: use numbers, text, lists and dicts"
    )


def text_of(value: Any) -> Any:
    """The value as `jsonable` gives it, else as text: for artifacts, which are shown and not computed with."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="replace")
    if isinstance(value, Mapping):
        return {str(key): text_of(item) for key, item in value.items()}
    try:
        return jsonable(value)
    except NotJsonError:
        return str(value)


def entries_of(metrics: Mapping[Any, Any]) -> dict[str, Any]:
    """What a scorer returned, by name: its view as `view_of` gives it, the rest as `text_of` does."""
    return {str(key): view_of(value) if key == "view" else text_of(value) for key, value in metrics.items()}


def view_of(value: Any) -> Any:
    """A view as JSON carries it: a figure or a PNG becomes an address that holds it, what draws itself its drawing."""
    try:
        if hasattr(value, "savefig"):
            drawn = io.BytesIO()
            value.savefig(drawn, format="png", dpi=80)
            value = drawn.getvalue()
        for method in ("_repr_svg_", "_repr_png_", "_repr_html_"):
            if hasattr(value, method) and (shown := getattr(value, method)()) is not None:
                value = shown
                break
    except Exception as error:  # noqa: BLE001 - a picture may raise anything, and costs no candidate its score
        return {"error": f"{type(error).__name__}: {error}"}
    if isinstance(value, bytes | bytearray) and bytes(value[:4]) == b"\x89PNG":
        value = f"data:image/png;base64,{base64.b64encode(value).decode()}"
    if value is not None and not isinstance(value, str | Mapping | bool | int | float):
        return {"error": f"a {type(value).__name__} is no picture"}
    shown = text_of(value)
    size = len(json.dumps(shown, default=str))
    return shown if size <= _MAX_VIEW else {"error": f"it has {size // 1024} KB, and up to 256 KB are kept"}


def _number(value: int | float) -> int | float:
    if isinstance(value, float):
        return float(value)
    return int(value) if abs(value) < 10**300 else float("inf") if value > 0 else float("-inf")


def _key(key: Any) -> str:
    if isinstance(key, str | int | float | bool) or key is None:
        return str(key)
    raise NotJsonError(f"a key of it is a {type(key).__name__}, which JSON cannot carry")

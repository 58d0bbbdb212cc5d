"""The values of an OpenEvolve configuration: flattened, typed, with what is unknown or not honoured in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from service.problems.formats.bridge import not_honoured
from service.problems.formats.openevolve_keys import ALIASES, HONOURED, KNOWN, NOT_HONOURED, SEARCH, SECTIONS
from service.problems.suggestion import hint

Value = TypeVar("Value")


class Values:
    """Typed reading of dotted keys, with the default where a key is absent or null.

    Attributes:
        file: the document's name, for messages.
        complaints: values that cannot be read, one sentence each.
        warnings: keys that are unknown or not honoured, one sentence each.
    """

    def __init__(self, file: str, raw: Mapping[str, Any], taken: Collection[str] = ()) -> None:
        """For a document, of whose section `search` somebody else honours the keys `taken`."""
        self.file = file
        self._taken = taken
        self._written: dict[str, str] = {}
        self.complaints: list[str] = []
        self.warnings: list[str] = []
        self._values = {key: value for key, value in self._flatten(raw).items() if value is not None}

    def given(self, key: str) -> bool:
        """Whether a key stands in the document with a value."""
        return key in self._values

    def any(self, key: str) -> Any:
        """A value as it stands, or None."""
        return self._values.get(key)

    def text(self, key: str, default: str = "") -> str:
        """A text; numbers are taken as written."""
        value = self._values.get(key, default)
        return self._expect(key, value, "text", default) if isinstance(value, dict | list | bool) else str(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(key, default)
        return value if isinstance(value, bool) else self._expect(key, value, "true or false", default)

    def number(self, key: str, default: float, low: float = 0.0) -> float:
        """A finite number of at least `low`; `1e-3`, which YAML 1.1 reads as text, counts as one."""
        return self.as_number(key, self._values.get(key, default), default, low)

    def whole(self, key: str, default: int, low: int = 0) -> int:
        """A whole number of at least `low`."""
        value = self.number(key, default, low)
        return int(value) if value == int(value) else self._expect(key, value, "a whole number", default)

    def as_number(self, key: str, value: Any, default: float, low: float) -> float:
        """A value found anywhere in the document as a finite number; `key` says where it stood."""
        words = f"a number of at least {low:g}"
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return self._expect(key, value, words, default)
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return self._expect(key, value, words, default)
        if low <= number < float("inf"):
            return number
        return self._expect(key, value, words, default)

    def names(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """A list of names."""
        value = self._values.get(key, list(default))
        if isinstance(value, list) and all(isinstance(name, str) and name for name in value):
            return tuple(dict.fromkeys(value))
        return self._expect(key, value, "a list of names", tuple(default))

    def warn(self, sentence: str) -> None:
        """Add a warning about the document."""
        self.warnings.append(f"{self.file}: {sentence}")

    def complain(self, sentence: str) -> None:
        """Add a complaint about the document."""
        self.complaints.append(f"{self.file}: {sentence}")

    def _expect(self, key: str, value: Any, what: str, default: Value) -> Value:
        shown = repr(value)
        self.complain(
            f"{self._written.get(key, key)} should be {what}, not {shown if len(shown) <= 60 else shown[:57] + '...'}"
        )
        return default

    def _flatten(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for word, value in raw.items():
            if ALIASES.get(word, word) not in raw:
                self._written[ALIASES[word]] = word
                word = ALIASES[word]
            if word not in SECTIONS:
                flat[word] = value
            elif isinstance(value, Mapping):
                flat |= {f"{word}.{key}": inner for key, inner in value.items()}
            elif value is not None:
                self.complain(f"{word} is a section with keys below it, not {type(value).__name__}")
        for key, value in flat.items():
            self._judge(key, value)
        return {key: value for key, value in flat.items() if key in HONOURED}

    def _judge(self, key: str, value: Any) -> None:
        if key == SEARCH:
            names = [name for name in _names_below(SEARCH, value) if name not in self._taken]
            self.warnings += not_honoured(self.file, names)
        elif key in NOT_HONOURED:
            self.warn(f"{self._written.get(key, key)} {NOT_HONOURED[key]}")
        elif key not in KNOWN:
            self.warn(f"unknown key {key!r} is ignored{hint(key, KNOWN)}")


def _names_below(key: str, value: Any, depth: int = 2) -> Iterator[str]:
    """The dotted keys of a section and of the sections in it; its own name where it is none."""
    if isinstance(value, Mapping) and depth:
        for name, inner in value.items():
            yield from _names_below(f"{key}.{name}", inner, depth - 1)
    else:
        yield key

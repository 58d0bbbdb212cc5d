"""Words and their numbers, read from a `tokenizer.json` whose tokens are whole words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# White space as Unicode has it; `str.split` also splits at four control characters that are none.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORD = re.compile(f"[^{_SPACE}]+")


class Vocabulary:
    """Words by number and numbers by word.

    Args:
        words: the word of each number.
        unknown: the number of every other word.
        added: words that are found inside of others, such as `<eos>`.
        special: numbers that no text shows.
    """

    def __init__(self, words: Sequence[str], *, unknown: int, added: Iterable[str], special: Iterable[int]) -> None:
        self.words = tuple(words)
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.unknown = unknown
        self.special = frozenset(special)
        longest_first = sorted(added, key=len, reverse=True)
        self._added = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if longest_first else None

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Numbers of the words of a text, without any that mark its beginning or end."""
        # The parts at odd places are what was split at.
        parts = self._added.split(text) if self._added else [text]
        return [
            self.numbers.get(word, self.unknown)
            for place, part in enumerate(parts)
            for word in ([part] if place % 2 else _WORD.findall(part))
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Words joined by a blank, without special words."""
        return " ".join(self.words[number] for number in ids if number not in self.special)


def read_vocabulary(values: Mapping[str, Any]) -> Vocabulary:
    """Read the content of a `tokenizer.json`.

    Raises:
        ValueError: its tokens are not whole words, or its numbers have gaps. The text names the fault and the cure.
    """
    model, cutter = _table(values, "model"), _table(values, "pre_tokenizer")
    if model.get("type") != "WordLevel" or cutter.get("type") != "WhitespaceSplit":
        raise ValueError(
            f"its tokenizer is {_named(model)} over {_named(cutter)}, and only WordLevel over WhitespaceSplit runs"
            " here: serve it with vLLM"
        )
    for key in ("normalizer", "decoder"):
        if values.get(key) is not None:
            raise ValueError(f"its tokenizer has a {key}, which does not run here: serve it with vLLM")
    added = _added(values.get("added_tokens"))
    words = _words(_table(model, "vocab") | {entry["content"]: entry["id"] for entry in added})
    unknown = model.get("unk_token")
    if unknown not in words:
        raise ValueError("its tokenizer names no unk_token of its vocabulary for unknown words")
    return Vocabulary(
        words,
        unknown=words.index(str(unknown)),
        added=[entry["content"] for entry in added],
        special=[entry["id"] for entry in added if entry.get("special")],
    )


def _table(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = values.get(key)
    return table if isinstance(table, dict) else {}


def _named(table: Mapping[str, Any]) -> str:
    return str(table.get("type", "of an unknown kind"))[:40]


def _added(entries: object) -> list[dict[str, Any]]:
    entries = entries if isinstance(entries, list) else []
    for entry in entries:
        if not (isinstance(entry, dict) and isinstance(entry.get("content"), str) and entry["content"]):
            raise ValueError("its tokenizer holds an added token without content")
        if entry.get("single_word"):
            raise ValueError("its tokenizer holds an added token of a single word: serve it with vLLM")
    return [entry for entry in entries if isinstance(entry, dict)]


def _words(numbers: Mapping[str, Any]) -> list[str]:
    places = list(numbers.values())
    if not all(type(place) is int for place in places) or sorted(places) != list(range(len(places))):
        raise ValueError("its tokenizer does not number its words from 0 without gaps")
    return sorted(numbers, key=lambda word: int(numbers[word]))

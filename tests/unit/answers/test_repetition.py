"""A completion that only says the same again is noticed while it is being written, and no other is."""

import random
from pathlib import Path

import pytest

from evolve.answers.repetition import MIN_CHARACTERS, RepetitionDetector, repeats

PIECES = ["x", "    x = x + 1\n", "0, ", "- improve the radius\n", "The parent is fine. " * 5]


def noticed_at(text: str, size: int) -> int | None:
    """After how many characters a text that comes in pieces of a size is noticed."""
    detector = RepetitionDetector()
    for place in range(0, len(text), size):
        if detector.feed(text[place : place + size]):
            return min(len(text), place + size)
    return None


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("size", [1, 7, 300, 5_000])
def test_a_loop_is_noticed_soon_after_it_is_long_enough(piece: str, size: int) -> None:
    opening = "def f(x):\n    return x\n" * 3
    found = noticed_at(opening + piece * (12_000 // len(piece)), size)
    assert found is not None
    assert MIN_CHARACTERS <= found <= len(opening) + MIN_CHARACTERS + 1_024 + 2 * size


def test_a_program_a_table_and_prose_are_no_loop() -> None:
    rng = random.Random(0)
    table = ",\n".join(f"[{rng.random():.6f}, {rng.random():.6f}]" for _ in range(2_000))
    counted = "\n".join(f"x{number} = x{number - 1} + 1" for number in range(2_000))
    for text in (table, counted, Path(random.__file__).read_text(encoding="utf-8")):
        assert noticed_at(text, 64) is None


def test_a_piece_that_is_said_too_seldom_is_no_loop() -> None:
    piece = "".join(chr(97 + number % 26) * (1 + number % 7) for number in range(80))[:200]
    assert not repeats((piece * 20)[-MIN_CHARACTERS:])


def test_what_was_a_loop_and_goes_on_is_none() -> None:
    detector = RepetitionDetector()
    detector.feed("y" * (MIN_CHARACTERS - 1))
    assert not detector.feed("the end" + "".join(map(str, range(400))))

"""Words and F1 as the published evaluation of SQuAD has them."""

import pytest

from evolve.domains.overlap import f1, words


@pytest.mark.parametrize(
    ("said", "wanted", "score"),
    [
        ("$5 million", "5 million", 1.0),
        ("C++", "C", 1.0),
        ("1914–1918", "1914-1918", 0.0),
        ("The Old Harbour!", "old harbour", 1.0),
        ("the old", "the-old", 0.0),  # joined: theold
        ("the–old", "–old", 1.0),
        ("", "", 1.0),
        ("x", "", 0.0),
        ("a b c", "b d", 0.5),
    ],
)
def test_words_are_compared_as_squad_does(said: str, wanted: str, score: float) -> None:
    assert f1(words(said, articles=False), words(wanted, articles=False)) == score

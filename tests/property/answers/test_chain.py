import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evolve.answers.chain import ChainFormat, ChainParser, parse_format
from evolve.answers.reasoning import END_MARK

FORMATS = st.sampled_from(["tags:answer", "tags:a", "fences", "single"]).map(parse_format)
PIECES = [
    "<answer_1>", "</answer_1>", "<answer>", "</answer", "<", ">", "<a>", "</A_2>", "ANSWER_3>", "```", "````", "~~~",
    "python", "\n", "\r\n", "---", "---\n", "```python\n", "```\n", "FILE: a.py\n", "ſ", "K", "İ",
    "<<<<<<< SEARCH\n", ">>>>>>> REPLACE\n", " ", "x = 1", "<think>", "</Think>", "<answer_2 >", "<anſwer_1>",
    "say it in words\n", " and so on", "...", '<answer_1 a="b">', "<answer_1 a", "[THINK]", "</seed:think>",
    '{"code": "y"}', "</reaso",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)


def parse(
    chain_format: ChainFormat, pieces: list[str], limit: int, cut: bool
) -> tuple[list[tuple[int, str]], list[str]]:
    parser = ChainParser(chain_format, limit, longest=60)
    parsed = [one for piece in pieces for one in parser.feed(piece)]
    parsed += parser.close(cut)
    return [(one.index, one.text) for one in parsed], parser.dropped


@given(FORMATS, TEXTS, st.lists(st.integers(0, 200)), st.integers(1, 4), st.booleans())
def test_any_split_gives_the_same_answers(
    chain_format: ChainFormat, text: str, cuts: list[int], limit: int, cut: bool
) -> None:
    bounds = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    whole = parse(chain_format, [text], limit, cut)
    assert parse(chain_format, pieces, limit, cut) == whole
    assert parse(chain_format, list(text), limit, cut) == whole


@given(FORMATS, TEXTS, st.integers(0, 200), st.integers(1, 4))
def test_a_chain_survives_any_cut(chain_format: ChainFormat, text: str, place: int, limit: int) -> None:
    # What ends as reasoning later is not known to be reasoning yet, and prose waits for the end.
    text = re.sub(END_MARK, "", text).replace("say it in words", "say()")
    whole, _ = parse(chain_format, [text], limit, cut=False)
    parser = ChainParser(chain_format, limit, longest=60)
    kept = [(one.index, one.text) for one in [*parser.feed(text[:place]), *parser.close(cut=True)]]
    assert parser.recovered or kept == whole[: len(kept)]


@given(FORMATS, TEXTS, st.integers(1, 4))
def test_answers_are_numbered_within_the_limit_and_never_blank(
    chain_format: ChainFormat, text: str, limit: int
) -> None:
    answers, dropped = parse(chain_format, [text], limit, cut=False)
    assert [index for index, _ in answers] == list(range(len(answers)))
    assert len(answers) <= limit
    assert all(answer.strip() for _, answer in answers)
    assert answers or dropped


@given(st.lists(st.text("xyz =()\n", min_size=1, max_size=50).map(str.strip).filter(bool), min_size=1, max_size=6))
def test_what_is_written_in_tags_is_read_back(answers: list[str]) -> None:
    text = "\n".join(f"<answer_{number}>\n{answer}\n</answer_{number}>" for number, answer in enumerate(answers, 1))
    assert parse(parse_format("tags:answer"), [text], len(answers), cut=False) == (list(enumerate(answers)), [])

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evolve.prompt.control_tokens import BREAK, guard, neutralise, restore

TOKENS = [
    "<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|channel|>", "</s>", "<s>",
    "<bos>", "<end_of_turn>", "<start_of_turn>", "<pad>", "<unk>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|fim_prefix|>", "<fim_middle>", "<unused12>", "<extra_id_3>", "[IMG]",
]  # fmt: skip

# Text made of what tokens are made of, so that near misses and overlaps come up, breaks included.
pieces = st.sampled_from(
    [*TOKENS, "<", ">", "|", "[", "]", "<<", "SYS>>", "im_end", "|>", "<|", "s>", BREAK, "\n", " "]
)
NESTED = f"<{BREAK}|[IMG]|>"
hostile = st.lists(pieces | st.text(max_size=3), max_size=30).map("".join)


@given(hostile)
@example("<|[IMG]|>")
@example(NESTED)
def test_every_text_survives_the_round_trip(text: str) -> None:
    assert restore(neutralise(text)) == text


@given(hostile)
@example("<|[IMG]|>")
@example(NESTED)
def test_no_control_token_is_left_after_neutralising(text: str) -> None:
    broken = neutralise(text)
    assert [token for token in TOKENS if token in broken] == []


@given(hostile)
def test_what_is_seen_stays_the_same(text: str) -> None:
    assert neutralise(text).replace(BREAK, "") == text.replace(BREAK, "")


@given(st.text(alphabet="abcxyz()=+-*/ \n<>[]|:.,0123456789", max_size=200))
def test_text_without_control_tokens_is_left_alone(text: str) -> None:
    if not re.search(r"<\|[^<>|\s]+\|>|</?s>", text):
        assert neutralise(text) == text


@pytest.mark.parametrize(
    "program", ["x: List[int] = a < b > c", "vector<string> v; a[i] | b[j];", "<div><b>hi</b></div>"]
)
def test_ordinary_code_is_left_alone(program: str) -> None:
    assert neutralise(program) == program


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_broken_twice_needs_two_restorations(token: str) -> None:
    twice = neutralise(neutralise(token))
    assert restore(twice) != token
    assert restore(restore(twice)) == token


@given(hostile)
@example("<|[IMG]|>")
@example(NESTED)
def test_the_guard_leaves_what_is_neutralised(text: str) -> None:
    assert guard(neutralise(text)) == neutralise(text)


@given(hostile)
@example("<|[IMG]|>")
@example(NESTED)
def test_nothing_whole_passes_the_guard(text: str) -> None:
    assert [token for token in TOKENS if token in guard(text)] == []

import time

import pytest

from evolve.answers.chain import ChainParser, example, parse_format
from evolve.answers.scanners import ParsedAnswer
from evolve.errors import ConfigurationError


def parse(text: str, name: str = "tags:answer", limit: int = 4, cut: bool = False) -> tuple[list[str], list[str]]:
    parser = ChainParser(parse_format(name), limit)
    parsed = [*parser.feed(text), *parser.close(cut)]
    assert [one.index for one in parsed] == list(range(len(parsed)))
    return [one.text for one in parsed], parser.dropped


@pytest.mark.parametrize("name", ["tags:answer", "tags:response", "tags:my-route", "fences", "single"])
def test_known_formats_are_read(name: str) -> None:
    chain_format = parse_format(name)
    assert name in {chain_format.kind, f"{chain_format.kind}:{chain_format.tag}"}


@pytest.mark.parametrize(
    "name", ["", "tags", "tags:", "tags:1", "tags:a b", "tags:answer_1", "tags:Think", "tag:answer", "fences:x"]
)
def test_unknown_formats_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="format"):
        parse_format(name)


@pytest.mark.parametrize(("name", "answers"), [("tags:answer", 3), ("fences", 3), ("single", 1)])
def test_the_example_is_parsed_as_what_it_asks_for(name: str, answers: int) -> None:
    parsed, dropped = parse(example(parse_format(name), 3, "x = 1"), name)
    assert len(parsed) == answers
    assert dropped == []


def test_an_answer_is_handed_on_when_its_block_closes() -> None:
    parser = ChainParser(parse_format("tags:answer"), 2)
    assert parser.feed("<answer_1>\nx = 1\n</answer_1") == []
    assert parser.feed(">") == [ParsedAnswer(index=0, text="x = 1")]
    assert parser.feed("<answer_2>y = 2</answer_2> bye") == [ParsedAnswer(index=1, text="y = 2")]
    assert parser.close() == []


@pytest.mark.parametrize(
    "text",
    [
        "<answer_1>a</answer_1><answer_2>b</answer_2>",
        "Sure! <answer_1>a</answer_1> and\n<answer_2>b</answer_2> done.",
        "<answer>a</answer>\n<answer>b</answer>",
        "<answer_2>a</answer_2><answer_1>b</answer_1>",
        "<answer_1>a</answer_1><answer_1>b</answer_1>",
        "<ANSWER_1>a</Answer_1><Answer 2>b</answer-2 >",
        "<answer_1>a</answer><answer_2>b</answer>",
        "<answer_1>a<answer_2>b",
        "<answer_1>a</answer_2><answer_2>b</answer_1>",
        "<answer_1><answer_1>a</answer_1></answer_1><answer_2>b</answer_2>",
        "<answer_1>\r\na\r\n</answer_1>\r\n<answer_2>\r\nb\r\n</answer_2>",
        "<answer_1>a</answer_1><answer_2>b</answer_",
    ],
)
def test_tags_are_read_as_models_write_them(text: str) -> None:
    assert parse(text) == (["a", "b"], [])


def test_other_tags_are_text() -> None:
    text = "if a<answers and b</answers>: <answer_x> <answer_12345678>"
    assert parse(f"<answer_1>{text}</answer_1>") == ([text], [])


def test_indentation_of_the_first_line_is_kept() -> None:
    assert parse("<answer_1>\n\n    x\n    y\n\n</answer_1>")[0] == ["    x\n    y"]


def test_an_answer_cut_off_is_dropped_with_a_reason() -> None:
    answers, dropped = parse("<answer_1>a</answer_1><answer_2>b = [1,", cut=True)
    assert answers == ["a"]
    assert dropped == ["1 answer cut off by the end of the completion"]


def test_answers_beyond_the_limit_are_dropped_with_a_reason() -> None:
    answers, dropped = parse("".join(f"<answer>{i}</answer>" for i in range(5)), limit=2)
    assert answers == ["0", "1"]
    assert dropped == ["3 answers beyond the 2 asked for"]


def test_empty_and_overlong_answers_are_dropped_with_a_reason() -> None:
    parser = ChainParser(parse_format("tags:answer"), 3, longest=5)
    parsed = parser.feed("<answer_1> \n </answer_1><answer_2>123456</answer_2><answer_3>12345</answer_3>")
    assert parsed + parser.close() == [ParsedAnswer(index=0, text="12345")]
    assert parser.dropped == ["1 answer without text", "1 answer longer than 5 characters"]


def test_an_overlong_answer_that_begins_with_blanks_is_one_however_it_arrives() -> None:
    text = "<answer>\n" + "x" * 30 + "<answer>\ny"
    for pieces in ([text], list(text)):
        parser = ChainParser(parse_format("tags:answer"), limit=4, longest=20)
        answers = [one.text for piece in pieces for one in parser.feed(piece)] + [one.text for one in parser.close()]
        assert (answers, parser.dropped) == (["y"], ["1 answer longer than 20 characters"])


def test_reasoning_in_front_holds_no_answers() -> None:
    text = "\n<think>I shall put one in <answer_1> and one in <answer_2>.</think>\n<answer_1>a</answer_1>"
    assert parse(text) == (["a"], [])
    assert parse(text[: text.index("</think>")])[0] == []
    assert parse("\n<thin", "single")[0] == ["<thin"]
    assert parse("x <think>y</think>", "single")[0] == ["x <think>y</think>"]
    # Too far in for the filter of the stream; the end of reasoning is found all the same.
    assert parse(" " * 5_000 + "<think>y</think>z", "single")[0] == ["z"]


@pytest.mark.parametrize("name", ["tags:answer", "fences"])
def test_a_completion_without_answers_says_so(name: str) -> None:
    assert parse("I cannot help with that.", name) == ([], ["the completion holds no answer in the format asked for"])


def test_fences_are_split_at_separators() -> None:
    text = "Two programs:\n\n```python\na\n```\n---\nAnother:\n~~~\nb\n~~~\nThat is all.\n"
    assert parse(text, "fences")[0] == [
        "Two programs:\n\n```python\na\n```",
        "Another:\n~~~\nb\n~~~\nThat is all.",
    ]


def test_a_separator_inside_a_fence_belongs_to_the_program() -> None:
    text = "```yaml\na: 1\n---\nb: 2\n```\n---\n````md\n```\n---\n```\n````"
    assert parse(text, "fences")[0] == ["```yaml\na: 1\n---\nb: 2\n```", "````md\n```\n---\n```\n````"]


def test_a_fence_left_open_before_a_separator_ends_there() -> None:
    assert parse("```python\na\n---\n\n```python\nb\n```", "fences")[0] == ["```python\na", "```python\nb\n```"]
    assert parse("```python\na\n---\n", "fences")[0] == ["```python\na"]


def test_blocks_without_separators_are_answers_of_their_own() -> None:
    assert parse("```\na\n```\n```\nb\n```", "fences")[0] == ["```\na\n```", "```\nb\n```"]


def test_blocks_of_files_and_of_edits_stay_one_answer() -> None:
    files = "FILE: a.py\n```\na\n```\nFILE: b.py\n```\nb\n```"
    edit = "```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```"
    bare = "<<<<<<< SEARCH\na\n---\n=======\nb\n>>>>>>> REPLACE"
    assert parse(f"{files}\n---\n{edit}\n{edit}\n---\n{bare}", "fences")[0] == [files, f"{edit}\n{edit}", bare]


def test_prose_between_separators_is_dropped_with_a_reason() -> None:
    answers, dropped = parse("Plan.\n---\n```\na\n```\n---\nNext one:\n---\n```\nb\n```\n---\nBye.", "fences")
    assert answers == ["```\na\n```", "```\nb\n```"]
    assert dropped == ["1 answer without a fenced block"]


def test_a_fence_cut_off_is_dropped_with_a_reason() -> None:
    answers, dropped = parse("```\na\n```\n---\n```\nb = [", "fences", cut=True)
    assert answers == ["```\na\n```"]
    assert dropped == ["1 answer cut off by the end of the completion"]


def test_a_single_answer_is_the_whole_text() -> None:
    assert parse("\nx = 1\n---\n<answer_1>\n", "single") == (["x = 1\n---\n<answer_1>"], [])
    assert parse("x = ", "single", cut=True) == ([], ["1 answer cut off by the end of the completion"])


@pytest.mark.parametrize("name", ["tags:answer", "fences", "single"])
@pytest.mark.parametrize(
    "unit", ["<", "<answer_1", "<answer>", "```\n", "---\n", "``` x\n---\n", "FILE: a  ", "\n", " "]
)
def test_a_long_completion_in_single_characters_takes_linear_time(name: str, unit: str) -> None:
    parser = ChainParser(parse_format(name), 4)
    started = time.process_time()
    for character in (unit * 100_000)[:100_000]:
        parser.feed(character)
    parser.close()
    # Generous: it takes 0.1 s; looking at everything again for each character takes minutes.
    assert time.process_time() - started < 3.0

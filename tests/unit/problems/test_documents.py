import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.problems.documents import DocumentError, read_document, read_file


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "a = 1\n[b]\nc = 2"),
        ("a.yaml", "a: 1\nb: {c: 2}"),
        ("a.yml", "a: 1\nb:\n  c: 2"),
        ("a.json", '{"a": 1, "b": {"c": 2}}'),
    ],
)
def test_three_syntaxes_say_the_same(name: str, text: str) -> None:
    assert read_document(name, text.encode()) == {"a": 1, "b": {"c": 2}}


def test_byte_order_mark_is_no_part_of_a_key() -> None:
    assert read_document("a.yaml", b"\xef\xbb\xbfa: 1") == {"a": 1}


def test_empty_yaml_is_an_empty_table() -> None:
    assert read_document("a.yaml", b"# nothing\n") == {}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.toml", b"a = 1\nb = [\n", "a.toml is broken: .*line 3|a.toml is broken: .*end of document"),
        ("a.toml", b"a = 1\nb = ?\n", "line 2"),
        ("a.toml", b"a = 1\na = 2\n", "a.toml is broken"),
        ("a.yaml", b"a: 1\nb: [1, 2\nc: 3\n", "line 3"),
        ("a.yaml", b"a: 1\n\tb: 2\n", "line 2"),
        ("a.json", b'{"a": 1,\n "b": }', "line 2"),
        ("a.json", b'{"a": NaN}', "NaN is not a JSON number"),
        ("a.yaml", b"- 1\n- 2\n", "a list where keys and values"),
        ("a.yaml", b"just words", "a str where keys"),
        ("a.yaml", b"a: 1\nb: \xff\xfe\n", r"not UTF-8 text \(line 2\)"),
        ("a.toml", b"\x00", "a.toml is broken"),
        ("a.yaml", b"\x00", "a.yaml is broken"),
        ("a.yaml", b"a: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a.yaml", b"a: !!timestamp x", "is broken"),
        ("a.yaml", b"a: !!int ''", "is broken"),
        ("a.yaml", b"a: 2001-99-99", "is broken"),
        ("a.yaml", b"? [1, 2]\n: 3\n? {a: 1}\n: 2", "is broken"),
        ("a.yaml", b"a: 1\n---\nb: 2\n", "is broken"),
        ("a.toml", b"a = " + b"1" * 5000, "is broken"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.toml", b"a = " + b"[" * 100_000, "nested too deeply"),
        ("a.yaml", b"a: " + b"[" * 5_000, "nested too deeply"),
        ("a.json", b'{"a":' * 200 + b"1" + b"}" * 200, "nested too deeply"),
        ("a.yaml", b"a: &a [*a]", "an alias holds itself"),
        ("a.toml", b"a = '" + b"x" * 300_000 + b"'", "larger than 256 KB"),
        ("a.ini", b"a = 1", "an unknown suffix"),
        ("a.json", b'{"a": ["\\ud800"]}', "cannot be stored"),
        ("a.json", b'{"a\\u0000": 1}', "cannot be stored"),
        ("a.yaml", b'a: "\\0"', "cannot be stored"),
        ("a.toml", b'a = "\\u0000"', "cannot be stored"),
    ],
)  # fmt: skip
def test_broken_document_is_one_sentence_with_its_place(name: str, content: bytes, said: str) -> None:
    with pytest.raises(DocumentError, match=said) as caught:
        read_document(name, content)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)


def test_yaml_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(DocumentError, match="aliases expand to more than 50000 values"):
        read_document("bomb.yaml", "\n".join(lines).encode())


@pytest.mark.parametrize("part", ["a", '"a b"', "'a'", '"\\"."', "a ", "\ta"])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[{}]]", "x = {{ y = 1, {} = 2 }}"])
def test_a_key_of_very_many_parts_is_refused_before_it_grows(part: str, form: str) -> None:
    # Read as it stands, a file of this size takes gigabytes.
    key = ".".join([part] * (200_000 // (len(part) + 1)))
    with pytest.raises(DocumentError, match="more than 32 parts"):
        read_document("problem.toml", form.format(key).encode())


def test_what_only_looks_like_a_long_key_is_read() -> None:
    dotted = ".".join("abcdefgh")
    text = f'{dotted} = 1\ntext = """{"and so on ... " * 500}"""\nversions = [{"1.25, " * 500}]'
    found = read_document("problem.toml", text.encode())
    assert len(found["versions"]) == 500


@pytest.mark.parametrize("content", ["aaaa" * 60_000, '\\"' * 60_000, '"\n' * 60_000, ("a." * 31 + "a\n") * 3000])
def test_a_document_that_is_made_to_be_slow_is_read_at_once(content: str) -> None:
    began = time.process_time()
    with pytest.raises(DocumentError):
        read_document("problem.toml", content.encode())
    assert time.process_time() - began < 5


def test_a_number_of_yaml_that_takes_the_square_of_its_length_is_refused() -> None:
    with pytest.raises(DocumentError, match="more than 1000 digits"):
        read_document("config.yaml", b"a: " + b"1:" * 60_000 + b"1")
    assert read_document("config.yaml", b"a: 1:30\nb: " + b"word " * 1000)["a"] == 90


def test_a_few_aliases_and_merges_are_read() -> None:
    text = "base: &base {temperature: 0.7}\nmodels:\n  - {<<: *base, name: a}\n  - {<<: *base, name: b}\n"
    read = read_document("a.yaml", text.encode())
    assert read["models"][1] == {"temperature": 0.7, "name": "b"}


def outcome(name: str, content: bytes) -> str:
    try:
        return repr(read_document(name, content))
    except DocumentError as error:
        return str(error)


@given(st.binary(max_size=200), st.sampled_from(["a.toml", "a.yaml", "a.json"]))
def test_any_bytes_are_a_table_or_a_sentence(content: bytes, name: str) -> None:
    assert outcome(name, content).startswith((name, "{"))


@given(st.text(alphabet="ab:-[]{}&*!<>|?,'\"# \n\t%@`=~.01e", max_size=60))
def test_any_yaml_like_text_is_a_table_or_a_sentence(text: str) -> None:
    assert outcome("a.yaml", text.encode()).startswith(("a.yaml", "{"))


def test_a_file_that_is_none_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", tmp_path, tmp_path / "absent.toml", tmp_path / ("x" * 300 + ".toml")):
        with pytest.raises(DocumentError):
            read_file(path)


def test_a_file_with_a_nul_in_its_name_is_refused() -> None:
    with pytest.raises(DocumentError):
        read_file(Path("a\0.toml"))

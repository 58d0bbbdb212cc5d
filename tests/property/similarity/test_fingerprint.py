import ast

from hypothesis import given
from hypothesis import strategies as st

from evolve.program import Program
from evolve.similarity.fingerprint import fingerprint

NAMES = st.sampled_from("abc")
LEAVES = (
    NAMES | st.integers(-2, 2).map(str) | st.floats(0, 2).map(repr) | st.sampled_from(["'a'", "b'a'", "None", "..."])
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "<", "and", "if c else"]), inner).map(lambda t: f"({' '.join(t)})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(lambda items: f"a({', '.join(items)})"),
        inner.map(lambda text: f"(lambda a: {text})"),
    ),
    max_leaves=8,
)
SOURCES = st.lists(st.tuples(NAMES, EXPRESSIONS).map(" = ".join), min_size=1, max_size=4).map("\n".join)


def of(text: str) -> str:
    return fingerprint(Program.of({"main.py": text}), "python")


@given(SOURCES)
def test_formatting_never_matters(text: str) -> None:
    formatted = "# new\n" + ast.unparse(ast.parse(text)).replace("\n", "  # why\n\n")
    assert of(formatted) == of(text)


@given(SOURCES, SOURCES)
def test_fingerprints_are_equal_exactly_when_the_trees_are(a: str, b: str) -> None:
    assert (of(a) == of(b)) == (ast.dump(ast.parse(a)) == ast.dump(ast.parse(b)))


@given(st.text(), st.sampled_from(["python", "c", "yaml", ""]))
def test_any_text_has_a_fingerprint(text: str, language: str) -> None:
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    program = Program.of({"main.py": text})
    assert fingerprint(program, language) == fingerprint(Program.of({"main.py": text}), language)

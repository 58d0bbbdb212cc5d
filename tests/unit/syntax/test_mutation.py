from collections.abc import Callable

import numpy as np
import pytest

from service.policy.syntax import structure, tune
from service.policy.syntax.source import Draft, SourceText
from service.policy.syntax.tree import Tree

OfTree = Callable[[SourceText, Tree, np.random.Generator], Draft | None]


def source(text: str, language: str = "python") -> SourceText:
    return SourceText("p", text, language)


def results(make: Callable[[np.random.Generator], Draft | None], parent: SourceText, count: int = 200) -> set[str]:
    drafts = (make(np.random.default_rng(seed)) for seed in range(count))
    return {parent.apply(draft) for draft in drafts if draft is not None}


def of_tree(mutation: OfTree, text: str) -> set[str]:
    parent = source(text)
    assert parent.tree is not None
    tree = parent.tree
    return results(lambda rng: mutation(parent, tree, rng), parent)


def test_operators_change_into_their_kin() -> None:
    assert of_tree(structure.operator, "x = (a  # + note\n  + b)\n") == {
        f"x = (a  # + note\n  {sign} b)\n" for sign in "-*/"
    }
    assert of_tree(structure.operator, "x <<= 1\n") == {"x >>= 1\n"}


def test_comparisons_change_into_their_kin() -> None:
    assert of_tree(structure.comparison, "x = a < b not  in c\n") == {
        "x = a <= b not  in c\n", "x = a > b not  in c\n", "x = a >= b not  in c\n", "x = a < b in c\n",
    }  # fmt: skip


def test_conditions_are_negated_and_negated_back() -> None:
    assert of_tree(structure.boolean, "if a and b:\n    pass\n") == {
        "if a or b:\n    pass\n",
        "if not (a and b):\n    pass\n",
    }
    assert of_tree(structure.boolean, "if not (a):\n    pass\n") == {"if a:\n    pass\n"}


def test_bounds_move_by_one_or_by_a_factor() -> None:
    assert of_tree(structure.bound, "range(6)\n") == {f"range({bound})\n" for bound in (5, 7, 12, 3)}
    assert of_tree(structure.bound, "range(n + 1)\n") == {
        f"range({bound})\n" for bound in ("n", "(n + 1) + 1", "(n + 1) - 1", "2 * (n + 1)", "(n + 1) // 2")
    }


def test_statements_are_deleted_repeated_and_swapped_by_whole_lines() -> None:
    assert of_tree(structure.statement, "a = 1  # one\nb = 2\n") == {
        "b = 2\n", "a = 1  # one\n", "a = 1  # one\na = 1  # one\nb = 2\n", "a = 1  # one\nb = 2\nb = 2\n",
        "b = 2\na = 1  # one\n",
    }  # fmt: skip


def test_the_only_statement_of_a_body_leaves_a_pass() -> None:
    assert "while a:\n    pass\n" in of_tree(structure.statement, "while a:\n    b()\n")


def test_statements_that_share_a_line_stay() -> None:
    assert of_tree(structure.statement, "a = 1; b = 2\n") == set()


def test_imports_definitions_and_docstrings_are_not_deleted() -> None:
    text = '"""Doc."""\nimport os\n\ndef f():\n    return 1\n'
    assert of_tree(structure.statement, text) == set()


def test_a_function_comes_whole_from_an_inspiration() -> None:
    parent, other = (
        source("def f():\n    return 1\n\nx = 2\n"),
        source("y = 1\n\n@cache\ndef f():\n    # new\n    return 3\n"),
    )
    assert parent.tree is not None
    tree = parent.tree
    assert results(lambda rng: structure.function(parent, tree, [other], rng), parent) == {
        "@cache\ndef f():\n    # new\n    return 3\n\nx = 2\n"
    }


def test_expressions_come_from_inspirations_where_their_names_are_known() -> None:
    parent, other = source("a = b * c\nd = a\n"), source("a = b + c\nd = unknown\n")
    assert parent.tree is not None
    tree = parent.tree
    assert results(lambda rng: structure.exchange(parent, tree, [other], rng), parent) == {"a = (b + c)\nd = a\n"}


def test_positions_hold_behind_characters_of_several_bytes() -> None:
    assert of_tree(structure.operator, "x = 'äöü€😀' + a  # ä\n") == {f"x = 'äöü€😀' {sign} a  # ä\n" for sign in "-*/"}
    assert [numeral.text for numeral in source("é = 'ß' * 3\r\nñ = 4.5\r\n").numerals] == ["3", "4.5"]


def test_numbers_in_f_strings_annotations_and_decorators_stay() -> None:
    text = "@cache(1)\ndef f(a: Literal[2] = 3) -> Literal[4]:\n    b: Annotated[int, 5] = 6\n    return f'{7}'\n"
    assert [numeral.text for numeral in source(text).numerals] == ["3", "6"]


def test_steps_come_in_all_sizes_and_counts() -> None:
    parent = source("x = [0.5, 0.25, 0.125, 0.75]\n")
    sizes, counts = set(), set()
    for seed in range(400):
        draft = tune.tune(parent, np.random.default_rng(seed))
        if draft is not None:
            counts.add(len(draft.changes))
            change = draft.changes[0]
            old = float(parent.text[change.start : change.end])
            sizes.add(round(np.log10(abs(float(change.text.strip("()")) - old))))
    assert counts == {1, 2, 3, 4}
    assert {-1, -2, -3, -4, -5} <= sizes


def test_integers_stay_integers() -> None:
    tuned = results(lambda rng: tune.tune(parent, rng), parent := source("n = 12\n"))
    assert len(tuned) > 1
    assert all(text.removeprefix("n = ").strip().strip("()-").isdigit() for text in tuned)


def test_numbers_are_exchanged_within_their_bracket() -> None:
    parent = source("f(0.5)\ng(1.5, 2.5)\n")
    assert results(lambda rng: tune.swap(parent, rng), parent) == {"f(0.5)\ng(2.5, 1.5)\n"}


def test_numbers_come_from_inspirations_line_by_line() -> None:
    parent = source("a = 0.5\nb = 1.5  # kept\n")
    other = source("import os\n\na = 0.75\nc = 9.5\n")
    found = results(lambda rng: tune.blend(parent, [other], rng), parent)
    assert "a = 0.75\nb = 1.5  # kept\n" in found
    assert all(text.endswith("\nb = 1.5  # kept\n") for text in found)


@pytest.mark.parametrize("mutation", [tune.tune, tune.shift, tune.reset, tune.swap])
def test_a_text_without_numbers_is_left_alone(
    mutation: Callable[[SourceText, np.random.Generator], Draft | None],
) -> None:
    assert mutation(source("x = y\n"), np.random.default_rng(0)) is None

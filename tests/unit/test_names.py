"""The rules for names find what breaks them, and each exception needs a breach and a reason."""

from pathlib import Path

import pytest

from scripts.names import RULES, complaints, modules

FILLING = "x = 1\n" * 40


def breaches(folder: Path, files: dict[str, str], **exceptions: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(complaints(modules(folder), exceptions))


@pytest.mark.parametrize("text", [
    "_MOST_ROWS = 3\n", "def least_share(): ...\n", "def f(longest_line): ...\n", "self.lowest_score = 1\n",
    "class LeastShare: ...\n",
])  # fmt: skip
def test_names_that_begin_with_a_superlative_are_found(text: str, tmp_path: Path) -> None:
    [found] = breaches(tmp_path, {"evolve/a.py": text + FILLING})
    assert found.startswith("evolve.a: ")
    assert found.endswith("use max_ or min_")


@pytest.mark.parametrize(
    "text", ["almost_all = 1\n", "mostly = 1\n", "longest = 1\n", "MAX_ROWS = 3\n", "c.most_common(1)\n"]
)
def test_other_names_are_left_alone(text: str, tmp_path: Path) -> None:
    assert breaches(tmp_path, {"evolve/a.py": text + FILLING}) == []


def test_a_class_name_stands_for_one_thing(tmp_path: Path) -> None:
    text = "class Cost: ...\n" + FILLING
    [found] = breaches(tmp_path, {"evolve/a.py": text, "service/b.py": text})
    assert found == "evolve.a, service.b: class Cost: give one of them its layer"


def test_a_schema_may_have_the_name_of_its_value(tmp_path: Path) -> None:
    text = "class Cost: ...\n" + FILLING
    assert breaches(tmp_path, {"evolve/a.py": text, "service/schemas/b.py": text}) == []
    assert len(breaches(tmp_path, {"service/schemas/c.py": text})) == 1


@pytest.mark.parametrize("name", ["Selected", "_Kept", "View", "_Asked", "Said"])
def test_classes_that_say_nothing_are_found(name: str, tmp_path: Path) -> None:
    [found] = breaches(tmp_path, {"training/a.py": f"class {name}: ...\n{FILLING}"})
    assert found == f"training.a: class {name}: name it for what it holds"


@pytest.mark.parametrize("name", ["Feed", "Speed", "SavedView", "PaddedBatch"])
def test_classes_that_say_what_they_hold_pass(name: str, tmp_path: Path) -> None:
    assert breaches(tmp_path, {"training/a.py": f"class {name}: ...\n{FILLING}"}) == []


@pytest.mark.parametrize(
    "line", ["from evolve.a import x\n", "from . import a\n", "from .a import x\n", "import evolve.a\n"]
)
def test_a_small_module_with_one_importer_is_found(line: str, tmp_path: Path) -> None:
    [found] = breaches(tmp_path, {"evolve/a.py": "x = 1\n", "evolve/b.py": line + FILLING})
    assert found == "evolve.a: 1 lines for evolve.b: join them"


def test_a_small_module_with_two_importers_passes(tmp_path: Path) -> None:
    text = "from evolve.a import x\n" + FILLING
    assert breaches(tmp_path, {"evolve/a.py": "x = 1\n", "evolve/b.py": text, "evolve/c.py": text}) == []


def test_names_that_a_package_hands_on_have_other_importers(tmp_path: Path) -> None:
    assert breaches(tmp_path, {"evolve/a.py": "x = 1\n", "evolve/__init__.py": "from evolve.a import x\n"}) == []


def test_an_exception_needs_a_breach_a_reason_and_a_rule(tmp_path: Path) -> None:
    files = {"evolve/a.py": "class View: ...\n" + FILLING}
    assert breaches(tmp_path, files, vague_classes={"View": "the saved view"}) == []
    assert breaches(tmp_path, files, vague_classes={"View": " "}) == ["[tool.names.vague_classes]: View has no reason"]
    stale = breaches(tmp_path, files, vague_classes={"View": "the saved view", "Line": "a line"})
    assert stale == ["[tool.names.vague_classes]: Line is stale: remove it"]
    unknown = breaches(tmp_path, files, vague_classes={"View": "the saved view"}, colours={})
    assert unknown == ["[tool.names.colours]: there is no such rule"]


def test_the_rules_are_four() -> None:
    assert [rule.__name__ for rule in RULES] == ["superlatives", "repeated_classes", "vague_classes", "small_modules"]

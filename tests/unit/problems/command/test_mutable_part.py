"""The part of a script that may change where it measures itself."""

import pytest

from evolve.answers.regions import regions
from service.problems.command.command_scorer.guard import complaint
from service.problems.command.mutable_part import MutablePart, find_mutable_part
from tests.unit.problems.command.scripts import QUEENS


def part_of(text: str) -> MutablePart:
    part = find_mutable_part(text)
    assert part is not None
    return part


def test_what_the_measured_function_reaches_may_change_and_the_measurement_stays() -> None:
    part = part_of(QUEENS)
    assert (part.functions, part.watched, part.timed) == (("permutations", "queens"), ("queens",), True)
    assert set(part.fixed) == {"bench_queens", "main"}
    (region,) = regions(part.text)
    inside = "\n".join(part.text.split("\n")[region.start : region.end])
    assert "yield vector" in inside
    assert "SIZE" not in inside
    assert "perf_counter" not in inside


def test_only_what_lies_between_two_looks_at_the_clock_is_measured() -> None:
    text = (
        "import time\n\n\ndef make_data():\n    return [3, 1]\n\n\ndef solve(data):\n    return sorted(data)\n\n\n"
        "def other(data):\n    return data\n\n\n"
        "def bench():\n    data = make_data()\n    other(data)\n    start = time.time()\n    solve(data)\n"
        "    print(time.time() - start)\n\n\nbench()\n"
    )
    assert part_of(text).functions == ("solve",)


def test_markers_of_the_person_are_kept() -> None:
    text = "# EVOLVE-BLOCK-START\ndef f():\n    return 1\n# EVOLVE-BLOCK-END\nprint(f())\n"
    part = part_of(text)
    assert (part.text, part.functions, part.marked) == (text, ("f",), True)


@pytest.mark.parametrize("text", ["print(3)\n", "def main():\n    print(3)\n\n\nmain()\n", "def (", "x = '\0'\n"])
def test_a_script_without_a_function_to_change_has_no_such_part(text: str) -> None:
    assert find_mutable_part(text) is None


SEED = part_of(QUEENS).text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("SIZE = 6", "SIZE = 2", "the part that measures has changed"),
        ("    columns = tuple", "    print('queens: 1 ms')\n    columns = tuple", "it uses print"),
        ("    columns = tuple", "    import os\n    columns = tuple", "it imports os"),
        ("    columns = tuple", "    time.perf_counter = int\n    columns = tuple", "it keeps state in time"),
        ("    columns = tuple", "    global SIZE\n    columns = tuple", "it keeps state in the global SIZE"),
        ("def queens(count)", "def queens(count, seen={})", "it keeps state in a default"),
        ("def queens(count)", "SIZE = 2\n\n\ndef queens(count)", "it rebinds a name"),
        ("def queens(count)", "def list(x):\n    return x\n\n\ndef queens(count)", "it redefines list"),
        ("def queens(count)", "SEEN = {}\n\n\ndef queens(count)", "keeps values outside of its functions"),
        (
            "def queens(count)",
            "from functools import lru_cache\n\n\n@lru_cache\ndef queens(count)",
            "it imports lru_cache",
        ),
    ],
)
def test_a_changed_part_that_reaches_the_measurement_does_not_count(old: str, new: str, said: str) -> None:
    text = SEED.replace(old, new)
    assert text != SEED
    assert said in complaint(text, SEED, ["permutations", "queens"])


def test_a_faster_algorithm_counts() -> None:
    text = SEED.replace("def queens(count)", "import itertools\n\n\ndef queens(count)")
    text = text.replace("in permutations(columns)", "in itertools.permutations(columns)")
    assert not complaint(text, SEED, ["permutations", "queens"])

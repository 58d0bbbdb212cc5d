"""Whatever value stands at whatever key, a folder is a problem or a list of sentences."""

import json
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidProblemError
from service.problems.folder import Folder
from service.problems.formats.openevolve import read_openevolve
from service.problems.formats.openevolve_keys import HONOURED
from service.problems.native import read_native
from service.problems.reader_result import ReaderResult
from tests.unit.problems.folders import EVALUATE, SCORE, SEED
from tests.unit.problems.test_native import FULL

LITERALS = st.sampled_from(
    [
        "1", "0", "-1", "2.5", "nan", "inf", "-inf", "1e999", "9" * 400, "true", '""', '"x"', '"../x"', '"\\u0000"',
        "[]", "[[]]", '["a.py"]', '[""]', "[1]", "{}", "{ a = 1 }", "[{}]", "[{ gain = 1 }]", "[{ gain = inf }]",
        "2001-01-01", '"seed.py"', '"separate"', '"minimize"',
    ]
)  # fmt: skip
ASSIGNMENTS = [number for number, line in enumerate(FULL.splitlines()) if "=" in line]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def outcome(read: Callable[[Folder], ReaderResult], files: dict[str, str]) -> tuple[object, ...]:
    """The seeds of the problem, or the complaints."""
    try:
        return read(Folder(files={name: text.encode() for name, text in files.items()})).problem.seeds
    except InvalidProblemError as error:
        return error.complaints


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(ASSIGNMENTS), LITERALS, max_size=4))
def test_native_problem_or_sentences(changes: dict[int, str]) -> None:
    lines = FULL.splitlines()
    for number, literal in changes.items():
        lines[number] = f"{lines[number].partition('=')[0]}= {literal}"
    files = {"problem.toml": "\n".join(lines), "a.py": SEED, "b.py": SEED, "scoring/score.py": SCORE}
    assert outcome(read_native, files)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(HONOURED)), JSON, max_size=4))
def test_openevolve_project_or_sentences(values: dict[str, object]) -> None:
    config: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        (config.setdefault(section, {}) if section else config)[name] = value  # type: ignore[assignment] # top or section
    files = {"config.yaml": json.dumps(config), "initial_program.py": SEED, "evaluator.py": EVALUATE}
    assert outcome(lambda folder: read_openevolve(folder, "p"), files)

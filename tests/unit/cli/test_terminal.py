import json
import math
from pathlib import Path

import pytest

from service.cli.terminal import Terminal, plain
from service.jsonlines import as_line


def test_json_never_holds_nan_or_infinity() -> None:
    line = as_line({"a": math.nan, "b": [math.inf, {"c": -math.inf}], "d": (1.5,)})
    assert json.loads(line) == {"schema": 1, "a": None, "b": [None, {"c": None}], "d": [1.5]}


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\x07", "a\rb", "\u202egnp.exe", "\x00"])
def test_texts_of_others_cannot_steer_the_terminal(text: str) -> None:
    assert not set(plain(text)) & {"\x1b", "\x9b", "\x07", "\r", "\u202e", "\x00"}


def test_plain_text_stays_as_it_is() -> None:
    assert plain("def f():\n\treturn 'äöü →'\n") == "def f():\n\treturn 'äöü →'\n"


def test_a_next_command_is_what_the_shell_can_find(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called = tmp_path / "bin" / "evolve"
    called.parent.mkdir()
    called.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(called), "run"])
    monkeypatch.setenv("PATH", "/absent")
    assert Terminal(place=" --db x.db").command("best last") == f"{called} best last --db x.db"
    monkeypatch.setenv("PATH", str(called.parent))
    assert Terminal().command("best last") == "evolve best last"

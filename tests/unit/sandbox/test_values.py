"""What crosses the sandbox's borders: JSON values, explanations, replies, levels."""

import math
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Integrity, Objective, Problem
from evolve.program import Program
from service.sandbox import sandbox_users
from service.sandbox.evaluator import SandboxEvaluator, isolation_warnings
from service.sandbox.inside import tree
from service.sandbox.inside.attacks import CROWD
from service.sandbox.inside.channel import Channel, ChannelError, frame, parse
from service.sandbox.inside.error_report import ComplaintError, explain
from service.sandbox.inside.jsonable import NotJsonError, jsonable, text_of
from service.sandbox.inside.protocol import Dialogue, ScoreReply
from service.sandbox.keeper_task import main_file
from service.sandbox.layers import Attack, IsolationLevel, Layer, level_of
from service.sandbox.reply import combine, read_reply
from service.sandbox.selftest import Report, _crowd, refusal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
NO_VALUE = "Expecting value: line 1 column 1 (char 0)"
SEED = Program.of({"main.py": "x = 1\n"})
PROBLEM = Problem(name="p", seeds=(SEED,), evaluator=EvaluatorSpec(entry="f"), objectives=(Objective(name="score"),))


@given(JSON)
def test_json_stays_what_it_is(value: Any) -> None:
    assert jsonable(value) == value
    assert parse(frame(value)[4:]) == value


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        ((1, (2,)), [1, [2]]),
        (np.float64(0.5), 0.5),
        (np.int8(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array(2.5), 2.5),
        (np.bool_(True), True),
        ({1: "a", None: 2}, {"1": "a", "None": 2}),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        ([np.array([math.inf])], [[math.inf]]),
    ],
)
def test_values_of_python_and_numpy_become_jsons_kinds(value: object, carried: object) -> None:
    assert jsonable(value) == carried


@pytest.mark.parametrize(
    "value", [{1}, b"x", object(), 1j, np.array([1j]), np.array([object()]), {(1, 2): 3}, [[len]], Path("x")]
)
def test_what_json_cannot_carry_is_named(value: object) -> None:
    with pytest.raises(
        NotJsonError,
        match=r"which JSON cannot carry(: use [a-z, .()]+ and dicts|: use list\(data\), data\.hex\(\) or text|)$",
    ):
        jsonable(value)


@pytest.mark.parametrize("value", [b"x", bytearray(2), memoryview(b"x"), [{"a": b"x"}]])
def test_how_bytes_are_carried_is_said(value: object) -> None:
    with pytest.raises(NotJsonError, match=r"^it holds bytes, .* use list\(data\), data\.hex\(\) or text$"):
        jsonable(value)


def test_artifacts_are_shown_as_text() -> None:
    assert text_of({"log": b"a\xff", "n": 1, "odd": {1}, "deep": {"x": b"y"}}) == {
        "log": "a\ufffd", "n": 1, "odd": "{1}", "deep": {"x": "y"}
    }  # fmt: skip


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"nul"])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(ChannelError):
        parse(body)


def test_numbers_too_long_to_compute_with_are_infinite() -> None:
    assert parse(b'{"high": ' + b"9" * 5000 + b', "low": -' + b"9" * 5000 + b"}") == {
        "high": math.inf,
        "low": -math.inf,
    }


def test_a_frame_that_is_cut_off_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frame({"a": 1})[:-1])
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ChannelError, match="cut off"):
            Channel(ours).receive()


def raised(source: str, folder: Path) -> BaseException:
    path = folder / "main.py"
    path.write_text(source)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any exception is one to explain, sys.exit's too
        exec(compile(source, str(path), "exec"), {})
    return caught.value


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero (line 2 of main.py)"),
        ("def f():\n    raise ValueError('a\\n  b')\nf()\n", "ValueError: a b (line 2 of main.py, in f)"),
        ("import json\njson.loads('x')\n", f"JSONDecodeError: {NO_VALUE} (line 2 of main.py)"),
        ("raise KeyError\n", "KeyError (line 1 of main.py)"),
        ("raise SystemExit('bye')\n", "it called sys.exit('bye') (line 1 of main.py)"),
    ],
)  # fmt: skip
def test_an_explanation_names_type_message_and_line(tmp_path: Path, source: str, sentence: str) -> None:
    assert explain(raised(source, tmp_path), str(tmp_path)) == sentence


def test_a_complaint_is_its_own_explanation(tmp_path: Path) -> None:
    assert explain(ComplaintError("the program defines no function f"), str(tmp_path)) == (
        "the program defines no function f"
    )


def lines(*values: str) -> Iterator[bytes]:
    return iter([f"{value}\n".encode() for value in values])


def test_a_dialogue_hands_out_each_input_once_and_collects_the_answers() -> None:
    talk = Dialogue(lines("[1]", '{"a":2}'))
    heard = [(talk.hear(body)[4:], talk.done) for body in (b'{"ready":true}', b'{"value":5}', b'{"error":"E"}')]
    assert heard == [(b'{"input":[1]}', False), (b'{"input":{"a":2}}', False), (b"", True)]
    assert [(output["value"], output["error"]) for output in talk.outputs] == [(5, None), (None, "E")]
    assert all(output["seconds"] >= 0 for output in talk.outputs)


def test_a_dialogue_without_inputs_is_one_call() -> None:
    talk = Dialogue(None)
    assert talk.hear(b'{"ready":true}')[4:] == b"{}"
    talk.hear(b'{"value":1}')
    assert (talk.done, len(talk.outputs)) == (True, 1)


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b"x", b"{}"])
def test_an_answer_that_is_none_is_refused(body: bytes) -> None:
    talk = Dialogue(None)
    talk.hear(b'{"ready":true}')
    with pytest.raises(ChannelError):
        talk.hear(body)


def test_a_child_cannot_choose_an_outcome_it_may_not_have() -> None:
    verdict = ScoreReply()
    verdict.hear(b'{"failed":"x","outcome":"ok","result":{"score":1}}')
    assert verdict.failed == ("error", "x")


HELD = ("namespaces", "sized scratch", "read-only mounts", "landlock", "seccomp", "limits", "tree")
LAYERS = [Layer(name, True, "") for name in HELD]
NAMES = [
    "a TCP connection to this machine", "a datagram to this machine", "a connection to a socket in the file system",
    "a datagram to a socket in the file system", "a file outside", "a write outside", "the mode of a file outside",
    "the environment of the process that started it", "a signal to the process that started it",
    "more processes than allowed", "more memory than allowed", "a process that outlives its evaluation",
]  # fmt: skip


def attacks(*through: str) -> list[Attack]:
    return [Attack(name, name not in through, "") for name in NAMES]


@pytest.mark.parametrize(
    ("off", "through", "level"),
    [
        ((), (), "strong"),
        (("namespaces",), (), "medium"),
        (("sized scratch",), (), "medium"),
        (("read-only mounts",), (), "medium"),
        (("landlock",), (), "weak"),
        (("seccomp",), (), "weak"),
        (("landlock", "tree"), (), "none"),
        ((), ("a file outside",), "weak"),
        ((), ("the mode of a file outside",), "weak"),
        ((), ("a datagram to a socket in the file system",), "weak"),
        ((), ("more processes than allowed",), "weak"),
        ((), ("a process that outlives its evaluation",), "none"),
        ((), ("more memory than allowed",), "none"),
    ],
)
def test_a_level_is_what_holds_and_what_was_held_off(
    off: tuple[str, ...], through: tuple[str, ...], level: str
) -> None:
    assert level_of([layer for layer in LAYERS if layer.name not in off], attacks(*through)) == level


def test_an_attack_that_the_problem_permits_costs_no_level() -> None:
    through = NAMES[:4]
    assert level_of(LAYERS, attacks(*through)) is IsolationLevel.WEAK
    assert level_of(LAYERS, attacks(*through), allowed=through) is IsolationLevel.STRONG
    assert level_of(LAYERS, []) is IsolationLevel.NONE, "an attack that was not tried proves nothing"


def test_levels_are_ordered() -> None:
    assert [level for level in IsolationLevel if level.reaches(IsolationLevel.WEAK)] == [
        IsolationLevel.STRONG,
        IsolationLevel.MEDIUM,
        IsolationLevel.WEAK,
    ]


def evaluation(score: float, outcome: Outcome = Outcome.OK) -> Evaluation:
    return Evaluation(outcome=outcome, scores={"score": score}, cases={"a": score / 10}, measures={"m": score})


def test_repeats_combine_to_mean_and_sample_deviation() -> None:
    combined = combine([evaluation(1.0), evaluation(2.0), evaluation(6.0)])
    assert combined.scores == {"score": 3.0}
    assert combined.spread["score"] == pytest.approx(math.sqrt(7.0))
    assert combined.cases["a"] == pytest.approx(0.3)
    assert combined.measures == {"m": 3.0}


def test_a_repeat_that_fails_stands_for_all() -> None:
    assert combine([evaluation(1.0), evaluation(2.0, Outcome.TIMEOUT)]).outcome is Outcome.TIMEOUT


def test_a_reply_that_is_ok_is_read_as_a_result() -> None:
    assert read_reply({"outcome": "ok", "result": {"score": 2}}, PROBLEM).scores == {"score": 2.0}
    assert read_reply({"outcome": "ok", "result": None}, PROBLEM).outcome is Outcome.INVALID
    stopped = read_reply({"outcome": "stage", "reason": "stopped", "result": {"quick": 1}}, PROBLEM)
    assert (stopped.outcome, stopped.reason, stopped.scores) == (Outcome.STAGE, "stopped", {"quick": 1.0})


@pytest.mark.parametrize(
    ("files", "integrity", "main", "found"),
    [
        (("a.py",), "separate", "", "a.py"),
        (("a.py", "b.py"), "separate", "b.py", "b.py"),
        (("a.py", "main.py"), "separate", "", "main.py"),
        (("a.py", "b.py"), "shared", "", ""),
        (("a.py", "b.py"), "shared", "b.py", "b.py"),
        (("a.py",), "shared", "b.py", "a.py"),
    ],
)
def test_the_main_file_of_a_program(files: tuple[str, ...], integrity: str, main: str, found: str) -> None:
    spec = EvaluatorSpec(integrity=Integrity(integrity), entry="f")
    problem = Problem(name="p", seeds=(SEED,), evaluator=spec, main=main)
    assert main_file(Program.of(dict.fromkeys(files, "x = 1\n")), problem) == found


@pytest.mark.parametrize(("text", "low", "high"), [("0 0 4294967295", 1 << 30, 1 << 32), ("0 9 65536", 999, 65536)])
def test_spare_users_are_nobody_and_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, low: int, high: int
) -> None:
    table = tmp_path / "uid_map"
    table.write_text(text)
    monkeypatch.setattr(sandbox_users, "_UID_MAP", table)
    users = [sandbox_users.spare_user() for _ in range(16)]
    assert len(set(users)) == 16
    assert all(low <= user < high for user in users)


@pytest.mark.parametrize("number", [-1, 0, 1])
def test_no_group_is_ended_that_is_not_ours(number: int) -> None:
    with pytest.raises(ValueError, match="no process of ours"):
        tree.end_group(number)


@pytest.mark.parametrize("user", [-1, 0])
def test_no_user_is_ended_that_was_not_made_for_it(user: int) -> None:
    with pytest.raises(ValueError, match="user made for an evaluation"):
        tree.end_user(user)


def test_nobody_but_the_first_of_a_namespace_ends_all_others() -> None:
    with pytest.raises(RuntimeError, match="first process of a namespace"):
        tree.end_namespace()


def test_a_refusal_says_why_the_self_test_could_not_be_run_and_which_attacks_came_through() -> None:
    report = Report(IsolationLevel.NONE, (), (Attack("the self-test itself", False, "its scratch is closed to it"),))
    assert refusal(report, IsolationLevel.WEAK) == (
        "the sandbox reaches the level none, and weak is required "
        "(the self-test could not be run: its scratch is closed to it)"
    )
    report = Report(IsolationLevel.NONE, (), (Attack("a file outside", False, "read"), Attack("a crowd", True, "none")))
    assert refusal(report, IsolationLevel.WEAK).endswith("(a file outside came through)")


def test_an_attack_that_nobody_saw_end_is_undecided_and_named() -> None:
    attack = Attack("a crowd", False, "it ran longer than 30 s", undecided=True)
    assert refusal(Report(IsolationLevel.WEAK, (), (attack,)), IsolationLevel.STRONG).endswith(
        "(a crowd: undecided after two attempts (it ran longer than 30 s); the machine may be busy, try again)"
    )
    assert _crowd({"outcome": "timeout", "reason": "slow"}) == Attack(CROWD, False, "slow", undecided=True)
    assert _crowd({"outcome": "lost", "reason": "gone"}) == Attack(CROWD, False, "gone", undecided=True)
    assert _crowd({"outcome": "crash", "reason": "too many"}) == Attack(CROWD, True, "too many")
    assert _crowd({"outcome": "ok", "result": {CROWD: (False, "264 processes")}}) == Attack(
        CROWD, False, "264 processes"
    )


@pytest.mark.parametrize("level", [IsolationLevel.WEAK, IsolationLevel.NONE])
def test_a_warning_about_isolation_names_the_attack_that_lowered_the_level(level: IsolationLevel) -> None:
    layers = tuple(Layer(name, True, "on") for name in ("limits", "tree"))
    evaluator = SimpleNamespace(level=level, report=Report(level, layers, (Attack("a file outside", False, "read"),)))
    (warning,) = isolation_warnings(cast("SandboxEvaluator", evaluator))
    assert warning.endswith("(a file outside came through)")

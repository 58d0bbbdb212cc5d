"""Every way a program can fail costs one evaluation with a readable reason, and nothing else."""

import re
import socket
import uuid
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from evolve.evaluation import Outcome, ScoringRequest
from evolve.problem import Objective
from evolve.program import Program
from service.errors import InvalidProblemError
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import ECHO, LIMITS, outcome_of, processes_naming, program, sandbox

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "other-languages.md"
SHORT = replace(LIMITS, wall_seconds=0.5)
SCORE = (Objective(name="score"),)


async def test_a_good_program_scores(tmp_path: Path) -> None:
    evaluation = await outcome_of(tmp_path, "def solve():\n    return 2.25\n")
    assert (evaluation.outcome, evaluation.reason, evaluation.scores) == (Outcome.OK, "", {"score": 2.25})
    assert evaluation.isolation.endswith("/separate")
    assert 0 < evaluation.seconds < LIMITS.wall_seconds


async def test_an_answer_comes_back_as_equal_text_for_equal_values(tmp_path: Path) -> None:
    evaluator = """
def score(outputs, program):
    return {"score": 1.0, "answer": outputs[0]["value"], "feedback": "fine"}
"""
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        for value, answer in (("' a\\n b '", "a b"), ("{'y': 2.0, 'x': [1]}", '{"x":[1],"y":2}'), ("None", None)):
            told = await opened.evaluate(program(f"def solve():\n    return {value}\n"), "evl_1")
            assert (told.outcome, told.answer, told.scores, told.feedback) == ("ok", answer, {"score": 1.0}, "fine")
        long = await opened.evaluate(program("def solve():\n    return 'x' * 2000\n"), "evl_2")
        assert (long.outcome, long.answer) == (Outcome.OK, None)
        assert "2000 characters" in long.feedback


@pytest.mark.parametrize(
    ("source", "outcome", "reason"),
    [
        ("def solve():\n    return 1 / 0\n", "error", r"^ZeroDivisionError: division by zero \(line 2 of main.py, in"),
        ("def solve(:\n    pass\n", "error", r"^SyntaxError: .* \(line 1 of main.py\)$"),
        ("import nothing_of_this_name\n", "error", r"^ModuleNotFoundError: .*nothing_of_this_name.* \(line 1 of"),
        ("x = 1\n", "error", "^the program defines no function solve$"),
        ("def solve():\n    import sys; sys.exit(3)\n", "error", r"sys\.exit\(3\) \(line 2 of main.py, in solve\)"),
        ("import sys\nsys.exit()\n", "error", r"sys\.exit\(None\) \(line 2 of main.py\)"),
        ("def solve():\n    import os; os._exit(0)\n", "crash", "ended with exit status 0 before it returned a result"),
        ("import os\nos._exit(7)\n", "crash", "exit status 7"),
        ("def solve():\n    import ctypes; ctypes.string_at(0)\n", "crash", "the program was ended by SIGSEGV"),
        ("def solve():\n    import os; os.kill(os.getpid(), 15)\n", "crash", "the program was ended by SIGTERM"),
        ("def solve():\n    import os; os.abort()\n", "crash", "the program was ended by SIGABRT"),
        ("def solve():\n    return {1, 2}\n", "error", "it holds a set, which JSON cannot carry"),
        ("def solve():\n    x = []; x.append(x); return x\n", "error", "nested too deeply, or holds itself"),
        ("def solve():\n    return bytearray(1 << 40)\n", "memory", "MemoryError"),
        ("def solve():\n    raise RuntimeError('x' * 5000)\n", "error", r"^RuntimeError: x{200,300}\.\.\. \(line 2"),
        ("class E(Exception):\n    def __str__(self): raise E\ndef solve():\n    raise E\n", "error", "^E: an excep"),
        ("def solve():\n    def f(): return f()\n    return f()\n", "error", "^RecursionError"),
        ("def solve():\n    return 'x' * 100_000\n", "output", "returned more than 64 KB"),
        ("def solve():\n    while True: print('x' * 1000)\n", "output", "the program printed more than 64 KB"),
    ],
)  # fmt: skip
async def test_a_failing_program_is_an_outcome(tmp_path: Path, source: str, outcome: str, reason: str) -> None:
    evaluation = await outcome_of(tmp_path, source)
    assert evaluation.outcome == outcome, evaluation
    assert re.search(reason, evaluation.reason), evaluation.reason
    assert "\n" not in evaluation.reason


@pytest.mark.parametrize(
    "source",
    [
        "import time\ndef solve():\n    time.sleep(600)\n",
        "import re\ndef solve():\n    re.match('(a+)+$', 'a' * 64 + 'b')\n",  # holds the interpreter lock
        "def solve():\n    return 3 ** (10 ** 9)\n",  # holds it too
        "import signal, time\ndef solve():\n"
        "    for n in range(1, 32):\n        try: signal.signal(n, signal.SIG_IGN)\n        except OSError: pass\n"
        "    while True: time.sleep(1)\n",
        "import time\ntime.sleep(600)\n",
        "import os, time\ndef solve():\n    os.closerange(0, 256)\n    time.sleep(600)\n",
    ],
)
async def test_a_program_that_does_not_end_is_ended(tmp_path: Path, source: str) -> None:
    evaluation = await outcome_of(tmp_path, source, limits=SHORT)
    assert (evaluation.outcome, evaluation.reason) == (Outcome.TIMEOUT, "the program ran longer than 0.5 s")
    assert evaluation.seconds < 2.0


@pytest.mark.parametrize(
    "source",
    [
        "def solve():\n    while True: pass\n",
        "import os\ndef solve():\n    [os.fork() for _ in range(2)]\n    while True: pass\n",
    ],
)
async def test_processor_time_of_the_tree_is_bounded(tmp_path: Path, source: str) -> None:
    evaluation = await outcome_of(tmp_path, source, limits=replace(LIMITS, cpu_seconds=1.0, wall_seconds=20.0))
    assert (evaluation.outcome, evaluation.reason) == (
        Outcome.TIMEOUT,
        "the program used more than 1 s of processor time",
    )


async def test_memory_of_the_tree_is_bounded(tmp_path: Path) -> None:
    source = """
        import os, time
        def solve():
            for _ in range(5):
                if os.fork() == 0:
                    held = bytearray(os.urandom(1 << 20)) * 100
                    time.sleep(60)
            time.sleep(60)
    """
    evaluation = await outcome_of(tmp_path, source)
    assert (evaluation.outcome, evaluation.reason) == (
        Outcome.MEMORY,
        "the program used more than 256 MB of memory",
    )


async def test_memory_shared_by_forks_counts_once(tmp_path: Path) -> None:
    source = """
        import os, time
        def solve():
            held = bytearray(os.urandom(1 << 20)) * 100
            children = [os.fork() for _ in range(1)]
            if 0 in children:
                time.sleep(0.4); os._exit(0)
            for _ in range(3):
                if os.fork() == 0:
                    time.sleep(0.3); os._exit(0)
            time.sleep(0.3)
            return len(held) / (100 << 20)
    """
    evaluation = await outcome_of(tmp_path, source)
    assert evaluation.scores == {"score": 1.0}, evaluation


async def test_a_fork_bomb_stays_within_its_limit(tmp_path: Path) -> None:
    source = """
        import os
        def solve():
            while True:
                try: os.fork()
                except OSError: pass
    """
    evaluation = await outcome_of(tmp_path, source, limits=replace(LIMITS, wall_seconds=1.0))
    assert evaluation.outcome in {Outcome.TIMEOUT, Outcome.CRASH, Outcome.MEMORY}, evaluation


async def test_a_daemon_does_not_outlive_its_evaluation(tmp_path: Path) -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    source = f"""
        import subprocess
        def solve():
            subprocess.Popen(["sh", "-c", "setsid sleep {mark} & setsid setsid sleep {mark} &"]).wait()
            return 1.0
    """
    evaluation = await outcome_of(tmp_path, source)
    assert evaluation.ok, evaluation.reason
    assert processes_naming(mark) == []


@pytest.mark.parametrize(
    "source",
    [
        "def solve():\n    with open('big', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\n",
        "def solve():\n    for n in range(1000):\n        with open(f'{n}', 'wb') as f: f.write(bytes(1 << 20))\n",
    ],
)
async def test_the_disk_is_bounded(tmp_path: Path, source: str) -> None:
    evaluation = await outcome_of(tmp_path, source)
    assert evaluation.outcome is Outcome.ERROR
    assert re.match(r"OSError: \[Errno \d+\] (No space left on device|File too large)", evaluation.reason)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("float('nan')", "the score score is nan, not a finite number"),
        ("float('-inf')", "the score score is -inf, not a finite number"),
        ("10 ** 5000", "the score score is inf, not a finite number"),
        ("'high'", "the evaluator returned no number for the objective score: it is the text 'high'"),
        ("None", "the evaluator returned no number for the objective score: it is a NoneType"),
    ],
)
async def test_a_score_that_is_no_finite_number_is_invalid(tmp_path: Path, value: str, reason: str) -> None:
    evaluator = "def score(outputs, program):\n    return {'score': outputs[0]['value']}\n"
    async with sandbox(tmp_path, evaluator, objectives=SCORE) as opened:
        evaluation = await opened.evaluate(program(f"def solve():\n    return {value}\n"), "evl_1")
    assert (evaluation.outcome, evaluation.reason) == (Outcome.INVALID, reason)
    assert evaluation.scores == {}


async def test_numpy_values_are_carried(tmp_path: Path) -> None:
    source = """
        import numpy as np
        def solve():
            return {"array": np.eye(2), "number": np.float32(0.5), "truth": np.bool_(True), 3: (np.int64(4), None)}
    """
    evaluation = await outcome_of(tmp_path, source, preload=("numpy",))
    assert evaluation.feedback == repr(
        {"array": [[1.0, 0.0], [0.0, 1.0]], "number": 0.5, "truth": True, "3": [4, None]}
    )


async def test_each_input_is_one_call_and_its_time_is_the_keepers(tmp_path: Path) -> None:
    evaluator = """
        def inputs():
            return [[1, 2], 5, {"a": 1}]
        def score(outputs, program):
            slow = outputs[1]["seconds"] >= 0.1 > outputs[0]["seconds"]
            shown = [(output["value"], output["error"]) for output in outputs]
            return {"score": float(slow), "files": sorted(program), "feedback": repr(shown)}
    """
    source = """
        import time
        time.time = time.perf_counter = time.monotonic = lambda: 0.0
        def solve(*given):
            if given == (5,): time.sleep(0.1)
            if given == ({"a": 1},): raise ValueError("no dicts")
            return list(given)
    """
    async with sandbox(tmp_path, evaluator) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.scores == {"score": 1.0}, evaluation
    shown = [([1, 2], None), ([5], None), (None, "ValueError: no dicts (line 6 of main.py, in solve)")]
    assert evaluation.feedback == f"files: ['main.py']\n{shown!r}"


async def test_what_a_failed_program_printed_is_feedback(tmp_path: Path) -> None:
    evaluation = await outcome_of(tmp_path, "def solve():\n    print('got here')\n    raise ValueError\n")
    stack = ["  main.py:3 in solve: raise ValueError", "ValueError"]
    assert evaluation.feedback.splitlines() == ["it printed:", "got here", *stack]


async def test_the_evaluators_own_failure_names_the_evaluator(tmp_path: Path) -> None:
    async with sandbox(tmp_path, "def score(outputs, program):\n    return {}['x']\n") as opened:
        evaluation = await opened.evaluate(program("def solve():\n    return 1\n"), "evl_1")
    assert evaluation.outcome is Outcome.ERROR
    assert evaluation.reason == "the evaluator failed: KeyError: 'x' (line 2 of evaluator.py, in score)"


async def test_a_cascade_stops_and_keeps_its_scores(tmp_path: Path) -> None:
    evaluator = """
        def score_stage1(outputs, program): return {"quick": outputs[0]["value"]}
        def score(outputs, program): return {"score": 10.0}
    """
    async with sandbox(tmp_path, evaluator, objectives=SCORE, stage_thresholds=({"quick": 2.0},)) as opened:
        short = await opened.evaluate(program("def solve():\n    return 1\n"), "evl_1")
        full = await opened.evaluate(program("def solve():\n    return 2\n"), "evl_2")
    assert (short.outcome, short.scores) == (Outcome.STAGE, {"quick": 1.0})
    assert short.reason == "stopped after stage 1: quick is 1, and 2 is needed to go on"
    assert (full.outcome, full.scores) == (Outcome.OK, {"quick": 2.0, "score": 10.0})


async def test_repeats_give_mean_and_spread(tmp_path: Path) -> None:
    source = "import random\ndef solve():\n    return random.random()\n"
    async with sandbox(tmp_path, repeats=3) as opened:
        first = await opened.evaluate(program(source), "evl_1")
        again = await opened.evaluate(program(source), "evl_2")
    assert first.spread["score"] > 0
    assert 0 < first.scores["score"] < 1
    assert (first.scores, first.spread) == (again.scores, again.spread), "the same program has the same luck"


LUCK = {"random": "random.random()", "numpy": "float(numpy.random.rand())"}


@pytest.mark.parametrize("module", LUCK)
@pytest.mark.parametrize("preload", [(), ("random", "numpy", "numpy.random")])
async def test_program_and_scorer_have_streams_of_their_own_which_repeat(
    tmp_path: Path, module: str, preload: tuple[str, ...]
) -> None:
    """A program that draws what its scorer draws would know the cases that it is tested on."""
    draws = f"[{LUCK[module]} for _ in range(4)]"
    evaluator = f"""
        import {module}
        def score(outputs, program):
            drawn = {draws}
            known = len(set(outputs[0]["value"]) & set(drawn))
            return {{"known": known, "first": outputs[0]["value"][0], "secret": drawn[0]}}
    """
    source = f"import {module}\ndef solve():\n    return {draws}\n"
    objectives = tuple(Objective(name=name, low=0.0, high=4.0) for name in ("known", "first", "secret"))
    async with sandbox(tmp_path, evaluator, objectives=objectives, preload=preload) as opened:
        first, again = [await opened.evaluate(program(source), f"evl_{number}") for number in range(2)]
        other = await opened.evaluate(program(f"{source}\n"), "evl_3")
    assert first.scores == again.scores, first
    assert first.scores["known"] == other.scores["known"] == 0.0
    assert first.scores["secret"] != other.scores["secret"]
    assert first.scores["first"] != other.scores["first"]


async def test_warm_ups_run_before_the_repeats_and_are_not_counted(tmp_path: Path) -> None:
    """Without isolation a program can count its runs outside."""
    count = tmp_path / "count"
    source = f"""
        def solve():
            with open({str(count)!r}, "a+") as file:
                file.write("x")
            with open({str(count)!r}) as file:
                return len(file.read())
    """
    async with sandbox(tmp_path, warmups=2, repeats=3, force=IsolationLevel.NONE) as opened:
        count.touch()
        count.chmod(0o666)
        found = await opened.evaluate(program(source), "evl_1")
    assert (found.scores, found.spread, found.repeats) == ({"score": 4.0}, {"score": 1.0}, 3), found


async def test_a_program_that_fails_while_it_warms_up_is_not_scored(tmp_path: Path) -> None:
    async with sandbox(tmp_path, warmups=2, repeats=3) as opened:
        began = monotonic()
        found = await opened.evaluate(program("import time\ndef solve():\n    time.sleep(0.5)\n    [][1]\n"), "evl_1")
        took = monotonic() - began
    assert (found.outcome, found.repeats) == (Outcome.ERROR, 1)
    assert took < 1.5, "once, and not five times"


async def test_another_draw_is_other_luck_and_the_same_one_the_same(tmp_path: Path) -> None:
    source = "import random\ndef solve():\n    return random.random()\n"
    async with sandbox(tmp_path) as opened:
        draws = [0, 1, 2, 1]
        found = [await opened.evaluate(program(source), "evl_1", ScoringRequest(draw=draw)) for draw in draws]
    scores = [one.scores["score"] for one in found]
    assert len(set(scores[:3])) == 3
    assert scores[3] == scores[1]


async def test_a_candidate_that_clearly_falls_short_of_the_bar_is_spared_its_further_repeats(tmp_path: Path) -> None:
    source = "import random\ndef solve():\n    return 1.0 + random.random() / 1000\n"
    async with sandbox(tmp_path, objectives=SCORE, repeats=6, min_repeats=3) as opened:
        short = await opened.evaluate(program(source), "evl_1", ScoringRequest(early_stop_threshold=2.0))
        again = await opened.evaluate(program(source), "evl_1", ScoringRequest(early_stop_threshold=2.0))
        good = await opened.evaluate(program(source), "evl_2", ScoringRequest(early_stop_threshold=0.5))
        unmeasured = await opened.evaluate(program(source), "evl_3")
    assert (short.repeats, good.repeats, unmeasured.repeats) == (3, 6, 6)
    assert (short.outcome, short.scores, short.spread) == (Outcome.OK, again.scores, again.spread)
    assert good.scores == unmeasured.scores, "the threshold decides how often, not what comes of it"


async def test_a_program_of_several_files_imports_its_own(tmp_path: Path) -> None:
    files = {"main.py": "from deep.part import value\ndef solve(): return value\n", "deep/part.py": "value = 4.5\n"}
    async with sandbox(tmp_path) as opened:
        evaluation = await opened.evaluate(Program.of(files), "evl_1")
    assert evaluation.scores == {"score": 4.5}, evaluation


async def test_a_command_takes_json_and_prints_json(tmp_path: Path) -> None:
    evaluator = "def inputs(): return [[1, 2], [3]]\n" + (
        "def score(outputs, program): return {'score': sum(o['value'] for o in outputs)}\n"
    )
    good = Program.of({"run.sh": "read line; echo ${#line}"})  # the length of [1, 2] and of [3]
    bad = Program.of({"run.sh": "echo oops >&2; exit 3"})
    text = Program.of({"run.sh": "echo hello"})
    async with sandbox(tmp_path, evaluator, command=("sh", "run.sh")) as opened:
        assert (await opened.evaluate(good, "evl_1")).scores == {"score": 9.0}
        failed, silent = await opened.evaluate(bad, "evl_2"), await opened.evaluate(text, "evl_3")
    assert failed.reason == "the command ended with status 3: oops"
    assert silent.reason == "the command printed no JSON value: 'hello'"


async def test_a_command_that_the_machine_lacks_is_named_with_what_to_do(tmp_path: Path) -> None:
    evaluator = "def score(outputs, program): return {'score': 1}"
    async with sandbox(tmp_path, evaluator, command=("no-such-awk",)) as opened:
        evaluation = await opened.evaluate(Program.of({"run.sh": "echo 1"}), "evl_1")
    assert evaluation.outcome is Outcome.ERROR
    assert evaluation.reason.startswith("the command 'no-such-awk' cannot be started: install it under /usr")


async def test_a_scorer_in_another_language_scores_as_the_page_on_it_says(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    scorer, evaluator = re.findall(r"^```(?:awk|python)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[-2:]
    async with sandbox(tmp_path, evaluator, files={"score.awk": scorer}) as opened:
        good = await opened.evaluate(program("def solve():\n    return [3.0, 4.5]\n"), "evl_1")
        bad = await opened.evaluate(program("def solve():\n    return 1 / 0\n"), "evl_2")
    assert good.scores == {"gap": 16.25}
    assert "ZeroDivisionError" in bad.reason
    async with sandbox(tmp_path, evaluator, files={"score.awk": "{ nonsense"}) as opened:
        broken = await opened.evaluate(program("def solve():\n    return [1.0]\n"), "evl_3")
    assert broken.outcome is Outcome.INVALID
    assert "score.awk" in broken.reason


SPREAD = "an input that is a list is spread over the arguments, and this one has 3 entries"


@pytest.mark.parametrize(
    ("source", "ending", "told"),
    [
        ("def solve(values): return sum(values)", "inputs() returns [[...]] instead of [...]", True),
        ("def solve(a, b, c, d): return 1.0", "inputs() returns [[...]] instead of [...]", True),
        ("def solve(*values): return len(5)", "(line 2 of main.py, in solve)", False),
        ("def solve(a, b, c): return a(b)", "(line 2 of main.py, in solve)", False),
        ("solve = abs", "inputs() returns [[...]] instead of [...]", True),
        ("solve = pow", "unsupported operand type(s) for ** or pow(): 'int', 'int', 'str'", False),
    ],
)
async def test_a_list_that_is_spread_over_other_arguments_is_explained(
    tmp_path: Path, source: str, ending: str, told: bool
) -> None:
    evaluator = "def inputs(): return [[1, 2, 'x']]\n" + ECHO
    async with sandbox(tmp_path, evaluator) as opened:
        reason = (await opened.evaluate(program(f"\n{source}\n"), "evl_1")).reason
    assert reason.startswith("TypeError: ")
    assert (SPREAD in reason) == told
    assert reason.endswith(ending)


async def test_inputs_of_bytes_are_refused_with_what_to_write_instead(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"inputs\(\) returned .* it holds bytes.*data\.hex\(\) or text"):
        async with sandbox(tmp_path, "def inputs(): return [b'x']\n" + ECHO):
            pass


async def test_inputs_may_be_larger_than_outputs(tmp_path: Path) -> None:
    evaluator = """
        def inputs(): return [["x" * 200_000], ["y" * 200_000]]
        def score(outputs, program): return {"score": sum(output["value"] for output in outputs)}
    """
    async with sandbox(tmp_path, evaluator) as opened:
        evaluation = await opened.evaluate(program("def solve(text):\n    return len(text)\n"), "evl_1")
    assert evaluation.scores == {"score": 400_000.0}, evaluation


async def test_answers_given_before_they_are_asked_for_do_not_count(tmp_path: Path) -> None:
    evaluator = """
        def inputs(): return [[1], [2], [3]]
        def score(outputs, program): return {"score": 1.0}
    """
    source = """
        import os, socket
        def solve(n):
            body = b'{"value":1}'
            for number in range(3, 32):
                try: socket.socket(fileno=os.dup(number)).sendall((len(body).to_bytes(4, "big") + body) * 2)
                except OSError: pass
            return n
    """
    async with sandbox(tmp_path, evaluator) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.outcome is Outcome.CRASH
    assert evaluation.reason.endswith("by itself: it answered before it was asked")


async def test_network_is_there_when_the_limits_grant_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = f"""
            import socket
            def solve():
                socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 1).close()
                return 1.0
        """
        async with sandbox(tmp_path, limits=replace(LIMITS, network=True)) as opened:
            evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.scores == {"score": 1.0}, evaluation


async def test_a_program_meets_inputs_that_are_held_out_in_no_evaluation_of_a_search(tmp_path: Path) -> None:
    evaluator = """
        def inputs(): return [1.0, 2.0]
        def holdout_inputs(): return [10.0]
        def score(outputs, program): return {"score": sum(output["value"] for output in outputs)}
        def holdout(outputs, program): return score(outputs, program)
    """
    given = program("def solve(x):\n    return 2 * x\n")
    async with sandbox(tmp_path, evaluator, holdout=True) as opened:
        found = [await opened.evaluate(given, "evl_1", ScoringRequest(holdout=holdout)) for holdout in (False, True)]
    assert [one.scores["score"] for one in found] == [6.0, 20.0]


async def test_a_holdout_is_scored_by_its_own_function(tmp_path: Path) -> None:
    evaluator = """
        def score(outputs, program): return {"score": 1.0}
        def holdout(outputs, program): return {"score": outputs[0]["value"]}
    """
    async with sandbox(tmp_path, evaluator) as opened:
        given = program("def solve():\n    return 7.0\n")
        evaluation = await opened.evaluate(given, "evl_1", ScoringRequest(holdout=True))
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 7.0})

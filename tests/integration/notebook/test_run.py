"""`evolve.run`: any function scores, any function answers, and the result is a value that equal calls repeat."""

import asyncio
import itertools
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evolve
from evolve.errors import ConfigurationError, PolicyUnavailable, ProblemError
from evolve.events import Event, EventKind
from evolve.problem import Direction, EvaluatorSpec, Limits, Measure, Objective, Problem
from evolve.program import Program
from evolve.search.result import Result
from service.errors import InvalidProblemError, NotFoundError, ServiceError, UsageError
from service.policy.syntax.policy import SyntaxPolicy
from tests.fakes.openai_server import openai_server

EXAMPLES = Path(__file__).parents[3] / "examples"
DOCS = EXAMPLES.parent / "docs"
SEED = "x = 7\n"


def value_of(source: str) -> float:
    space: dict[str, Any] = {}
    exec(source, space)
    return float(space["x"])


def closeness(source: str) -> float:
    return -abs(value_of(source) - 42)


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def plain(result: Result) -> list[dict[str, Any]]:
    """All that does not depend on how busy the machine is."""
    return [{key: value for key, value in record.items() if key != "seconds"} for record in result.candidates]


def counting(prompt: str) -> str:
    """A policy that adds one to what it is shown last."""
    last = re.findall(r"x = (\d+)", prompt)[-1]
    return f"x = {int(last) + 1}\n"


def test_a_run_has_the_name_and_the_labels_that_it_is_given() -> None:
    seeded = evolve.run(SEED, evaluate=closeness, evaluations=2, name="first", labels={"team": "blue"})
    assert seeded.labels == {"name": "first", "team": "blue"}
    assert seeded.problem.name == "first"
    whole = evolve.run(seeded.problem, evaluate=closeness, evaluations=2, name="second")
    assert (whole.labels, whole.problem.name) == ({"name": "second"}, "first")
    assert evolve.run(SEED, evaluate=closeness, evaluations=2).labels == {}
    with pytest.raises(UsageError, match="the label 'Team' cannot be stored"):
        evolve.run(SEED, evaluate=closeness, labels={"Team": "blue"})


def test_a_seed_and_a_function_are_enough() -> None:
    result = evolve.run(SEED, evaluate=closeness, evaluations=40, seed=1)
    assert (result.reason, result.account.evaluations) == ("evaluations", 40)
    assert result.scores == {"combined_score": closeness(result.source)}
    assert result.fitness is not None
    assert result.fitness > closeness(SEED)
    assert [record["fitness"] for record in result.candidates if record["outcome"] == "ok"] == [
        closeness(record["source"]) for record in result.candidates if record["outcome"] == "ok"
    ]


class Closeness:
    """A problem as people write one."""

    seed = "x = 7"
    objectives = "closeness"
    description = "Find the number."

    def __init__(self, wanted: int = 42) -> None:
        self.wanted = wanted

    def evaluate(self, source: str) -> dict[str, float]:
        return {"closeness": -abs(value_of(source) - self.wanted)}


class Unmade(Closeness):
    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)


def test_a_class_or_an_object_of_it_is_a_problem() -> None:
    found = evolve.run(Closeness, evaluations=20, seed=1)
    assert (found.problem.name, found.problem.description) == ("Closeness", "Find the number.")
    assert found.scores == {"closeness": closeness(found.source)}
    same = evolve.run(SEED, evaluate=Closeness().evaluate, objectives="closeness", evaluations=20, seed=1)
    assert found.history == same.history
    made = evolve.run(Closeness(7), description="Stay.", name="stays", evaluations=2)
    assert (made.problem.name, made.problem.description, made.fitness) == ("stays", "Stay.", 0)


def test_candidates_vote_for_what_they_answer_and_repeats_of_a_program_too() -> None:
    programs = ["x = 1\n", "x = 2\n", "x = 1\n", "x = 3\n", "x = 1\n", "x = 4\n", "x = 4\n"]

    def policy(prompt: str) -> list[str]:
        return programs

    def evaluate(source: str) -> dict[str, Any]:
        value = value_of(source)
        return {"size": value, "answer": f" {'odd' if value % 2 else 'even'}  number"}

    result = evolve.run(SEED, evaluate=evaluate, objectives="size", policy=policy, answers=7, budget={"answers": 7})
    # The seed, 7, and 1, 1, 1, 3 are odd; 2, 4, 4 are even: of repeated programs only the first was evaluated.
    majority = result.vote()
    assert [(tally.answer, tally.votes) for tally in majority.ranking] == [("odd number", 5), ("even number", 3)]
    assert majority.winner is not None
    best = next(record for record in result.candidates if record["candidate_id"] == majority.winner.candidate_id)
    assert (best["source"], best["answer"], best["scores"]) == (SEED, "odd number", {"size": 7.0})
    assert sum(record["answer"] is None for record in result.candidates) == 3  # duplicates: their program has one
    assert result.vote("best_of_majority", 0.9).winner is None
    assert evolve.run(SEED, evaluate=closeness, evaluations=5).vote().winner is None


def test_equal_calls_give_equal_results_and_another_seed_another() -> None:
    first, again, other = (
        evolve.run(SEED, evaluate=closeness, evaluations=30, seed=seed, islands=2) for seed in (1, 1, 2)
    )
    assert plain(first) == plain(again)
    assert first.history == again.history
    assert first.run_id != other.run_id
    assert [record["source"] for record in first.candidates] != [record["source"] for record in other.candidates]


async def test_it_is_a_plain_call_inside_a_running_event_loop() -> None:
    asyncio.get_running_loop()
    inside = evolve.run(SEED, evaluate=closeness, evaluations=15, seed=3)
    outside = await asyncio.to_thread(evolve.run, SEED, evaluate=closeness, evaluations=15, seed=3)
    assert plain(inside) == plain(outside)


def test_an_asynchronous_function_overlaps_with_itself() -> None:
    under_way, maximum = 0, 0

    async def evaluate(source: str) -> dict[str, float]:
        nonlocal under_way, maximum
        under_way += 1
        maximum = max(maximum, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return {"score": closeness(source)}

    result = evolve.run(SEED, evaluate=evaluate, objectives="score", evaluations=20, concurrency={"evaluations": 3})
    assert result.account.evaluations == 20
    assert maximum == 3


def test_a_plain_function_is_called_in_the_calling_thread_and_in_others_where_several_are_wanted() -> None:
    threads: set[int] = set()

    def evaluate(source: str) -> float:
        threads.add(threading.get_ident())
        return closeness(source)

    evolve.run(SEED, evaluate=evaluate, evaluations=10)
    assert threads == {threading.get_ident()}
    threads.clear()
    evolve.run(SEED, evaluate=evaluate, evaluations=10, concurrency={"evaluations": 2})
    assert threads
    assert threading.get_ident() not in threads


def raising(error: BaseException) -> Any:
    def evaluate(source: str) -> float:
        if source != SEED:
            raise error
        return 0.0

    return evaluate


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (ValueError("too\n round"), "error", "ValueError: too round"),
        (StopIteration("over"), "error", "StopIteration: over"),
        (SystemExit(3), "error", "it called sys.exit(3)"),
        (GeneratorExit(), "error", "GeneratorExit"),
        (asyncio.CancelledError(), "error", "CancelledError"),
        (TimeoutError("5 s are over"), "timeout", "TimeoutError: 5 s are over"),
        (MemoryError(), "memory", "MemoryError"),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_function_raises_is_the_reason_of_a_failed_candidate(
    error: BaseException, outcome: str, reason: str, asynchronous: bool
) -> None:
    evaluate = raising(error)

    async def later(source: str) -> float:
        return float(evaluate(source))

    result = evolve.run(SEED, evaluate=later if asynchronous else evaluate, evaluations=4)
    failed = [record for record in result.candidates if record["proposal_number"] and record["outcome"]]
    assert len(failed) == 3
    # In a coroutine Python itself makes a RuntimeError of a StopIteration.
    expected = "RuntimeError" if asynchronous and isinstance(error, StopIteration) else reason
    assert all(record["outcome"] == outcome and record["reason"].startswith(expected) for record in failed)


def test_the_line_of_a_program_that_raises_is_named() -> None:
    def evaluate(source: str) -> float:
        exec("def f():\n    return 1 / 0\n\nf()" if source != SEED else source, {})
        return 1.0

    result = evolve.run(SEED, evaluate=evaluate, evaluations=3)
    reasons = {record["reason"] for record in result.candidates if record["outcome"] == "error"}
    assert reasons == {"ZeroDivisionError: division by zero (line 2 of the program, in f)"}


def test_scores_cases_feedback_and_measures_are_read_as_everywhere() -> None:
    def evaluate(source: str) -> dict[str, Any]:
        x = value_of(source)
        return {
            "error": "" if x < 1e6 else "too far",
            "distance": np.float32(abs(x - 42)),
            "magnitude": np.int64(abs(x)),
            "cases": np.array([1.0, 0.5]),
            "feedback": f"x is {x:g}",
            "artifacts": {"trace": "left, right"},
        }

    distance = Objective(name="distance", direction=Direction.MINIMIZE)
    result = evolve.run(SEED, evaluate=evaluate, objectives=[distance], measures="magnitude", evaluations=10)
    assert result.best is not None
    assert result.fitness == -result.scores["distance"]
    assert set(result.best.measures) == {"magnitude"}
    seed = result.candidates[0]
    assert (seed["scores"], seed["cases"]) == ({"distance": 35.0}, {"0": 1.0, "1": 0.5})
    assert seed["feedback"].split("\n") == ["error: ", "x is 7", "trace: left, right"]


@pytest.mark.parametrize("returned", [None, "high", [1.0], object(), float("nan"), {"score": float("inf")}, {}])
def test_what_is_no_score_is_an_invalid_candidate(returned: Any) -> None:
    result = evolve.run(SEED, evaluate=lambda source: 1.0 if source == SEED else returned, evaluations=3)
    invalid = [record for record in result.candidates if record["proposal_number"] and record["outcome"]]
    assert len(invalid) == 2
    assert all(record["outcome"] == "invalid" and record["reason"] for record in invalid)


def test_a_seed_that_cannot_be_scored_is_an_error_with_its_reason() -> None:
    with pytest.raises(InvalidProblemError, match=r"no seed of program could be scored: NameError: name 'y'"):
        evolve.run("x = y\n", evaluate=closeness)


def test_several_objectives_give_a_front() -> None:
    def evaluate(source: str) -> dict[str, float]:
        x = value_of(source)
        return {"small": -abs(x), "large": min(abs(x), 100.0)}

    objectives = [Objective(name="small", low=-100, high=0), Objective(name="large", low=0, high=100)]
    result = evolve.run(SEED, evaluate=evaluate, objectives=objectives, evaluations=30)
    # What one gains the other loses, so within the bounds nobody beats anybody.
    inside = {record["candidate_id"] for record in result.candidates if record["scores"].get("small", -1e9) >= -100}
    assert inside <= {individual.candidate_id for individual in result.front}
    with pytest.raises(ProblemError, match="needs low and high"):
        evolve.run(SEED, evaluate=evaluate, objectives=["small", "large"])


def test_an_interrupt_inside_a_function_returns_what_there_is_so_far() -> None:
    calls = []

    def evaluate(source: str) -> float:
        calls.append(source)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return closeness(source)

    result = evolve.run(SEED, evaluate=evaluate, evaluations=1000)
    assert (result.reason, result.account.evaluations) == ("interrupted", 5)
    assert result.source in calls[:5]


def test_an_interrupt_ends_a_program_that_never_returns() -> None:
    def evaluate(source: str) -> float:
        if source != SEED:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                pass
        return 0.0

    result = evolve.run(SEED, evaluate=evaluate, evaluations=1000)
    assert (result.reason, result.account.evaluations) == ("interrupted", 1)


def test_events_are_told_in_order_in_the_calling_thread() -> None:
    heard: list[Event] = []
    threads = set()

    def on_event(event: Event) -> None:
        heard.append(event)
        threads.add(threading.get_ident())

    result = evolve.run(SEED, evaluate=closeness, evaluations=8, on_event=on_event)
    assert tuple(heard) == result.events
    assert threads == {threading.get_ident()}


def test_what_a_listener_raises_ends_the_run() -> None:
    def on_event(event: Event) -> None:
        if event.kind is EventKind.BEST_IMPROVED:
            raise RuntimeError("heard enough")

    with pytest.raises(RuntimeError, match="heard enough"):
        evolve.run(SEED, evaluate=closeness, evaluations=1000, on_event=on_event)


def test_a_line_says_how_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    result = evolve.run(SEED, evaluate=closeness, evaluations=8, progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    failed = sum(record["outcome"] == "error" for record in result.candidates)
    assert told.err.rsplit("\r", 1)[1].strip() == f"best {result.fitness:.6g} · 8/8 evaluated · {failed} failed"


def test_several_policies_of_any_kind_take_their_share() -> None:
    both: list[Any] = ["syntax", counting]
    result = evolve.run(SEED, evaluate=closeness, policy=both, evaluations=30, answers=1, samples=1)
    again = evolve.run(SEED, evaluate=closeness, policy=both, evaluations=30, answers=1, samples=1)
    asked = [record["policy"] for record in result.candidates[1:]]
    assert set(asked) == {"syntax", "counting"}
    assert [record["policy"] for record in again.candidates[1:]] == asked
    with pytest.raises(ConfigurationError, match="two policies of the run are called counting"):
        evolve.run(SEED, evaluate=closeness, policy=[counting, counting], evaluations=3)


def test_a_function_answers_with_one_program() -> None:
    result = evolve.run(SEED, evaluate=closeness, policy=counting, evaluations=6, selection={"tournament": 1.0})
    assert {record["policy"] for record in result.candidates[1:]} == {"counting"}
    assert result.source == "x = 12\n"


async def _one_more(prompt: str) -> str:
    await asyncio.sleep(0)
    return counting(prompt)


def test_an_asynchronous_function_answers_as_a_plain_one_does() -> None:
    found = evolve.run(SEED, evaluate=closeness, policy=_one_more, evaluations=6)
    assert [record["source"] for record in found.candidates] == [
        record["source"] for record in evolve.run(SEED, evaluate=closeness, policy=counting, evaluations=6).candidates
    ]


def test_answers_are_taken_from_tags_or_from_a_list() -> None:
    prompts: list[str] = []

    def tagged(prompt: str) -> str:
        prompts.append(prompt)
        start = 10 * len(prompts)
        return f"Well.\n<answer_1>\nx = {start}\n</answer_1>\n<answer_2>\nx = {start + 1}\n</answer_2>"

    def listed(prompt: str) -> list[str]:
        return re.findall(r"x = \d+", tagged(prompt))

    by_tags = evolve.run(SEED, evaluate=closeness, policy=tagged, answers=2, evaluations=7)
    prompts_of_tags, prompts = prompts, []
    by_list = evolve.run(SEED, evaluate=closeness, policy=listed, answers=2, evaluations=7)
    assert "<answer_2>" in prompts_of_tags[0]
    expected = [(number, place) for number in (1, 2, 3) for place in (0, 1)]
    for result in (by_tags, by_list):
        assert [(one["proposal_number"], one["position"]) for one in result.candidates[1:]] == expected
        assert [value_of(one["source"]) for one in result.candidates[1:]] == [10, 11, 20, 21, 30, 31]


def test_samples_call_the_function_as_often_for_one_prompt() -> None:
    prompts: list[str] = []

    def policy(prompt: str) -> str:
        prompts.append(prompt)
        return f"x = {len(prompts)}\n"

    evolve.run("x = 0\n", evaluate=closeness, policy=policy, samples=3, islands=1, evaluations=13)
    assert len(prompts) == 12
    assert prompts[0] == prompts[1] == prompts[2]
    assert prompts[9] == prompts[10] == prompts[11] != prompts[0]


def test_the_first_call_of_a_policy_has_to_work() -> None:
    def broken(prompt: str) -> str:
        return undefined_model(prompt)  # type: ignore[name-defined,no-any-return] # noqa: F821 - the slip under test

    with pytest.raises(NameError, match="undefined_model"):
        evolve.run(SEED, evaluate=closeness, policy=broken)
    with pytest.raises(UsageError, match=r"returned 3 answers, and 1 is asked for: set answers=3"):
        evolve.run(SEED, evaluate=closeness, policy=lambda _: ["x = 1", "x = 2", "x = 3"])
    with pytest.raises(UsageError, match=r"returned a NoneType: return the completion as text"):
        evolve.run(SEED, evaluate=closeness, policy=lambda _: None)


def test_a_later_call_that_fails_costs_its_proposal_alone() -> None:
    calls: list[str] = []

    def policy(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) % 2 == 0:
            raise ConnectionError("the line is cut")
        return f"x = {len(calls) + 100}\n"

    result = evolve.run(SEED, evaluate=closeness, policy=policy, evaluations=5)
    failed = [event.payload["reason"] for event in result.events if event.kind is EventKind.PROPOSAL_FAILED]
    assert set(failed) == {"the policy policy failed: ConnectionError: the line is cut"}
    assert (result.reason, len(failed)) == ("evaluations", 3)


def test_a_function_that_fails_ever_after_its_first_call_fails_the_run_in_its_own_words() -> None:
    calls: list[str] = []

    def policy(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) > 1:
            raise ValueError("no key was given")
        return "x = 101\n"

    with pytest.raises(ServiceError, match=r"the run failed: .*ValueError: no key was given"):
        evolve.run(SEED, evaluate=closeness, policy=policy, evaluations=50)
    assert len(calls) < 12


def test_a_function_that_fails_in_ever_other_words_fails_the_run_all_the_same() -> None:
    calls = itertools.count()

    def failing(prompt: str) -> str:
        call = next(calls)
        if call:
            raise OSError(f"request {call} was lost")
        return counting(prompt)

    with pytest.raises(ServiceError, match=r"failed: OSError: request 20 was lost"):
        evolve.run(SEED, evaluate=closeness, policy=failing, evaluations=60)
    assert next(calls) == 21


def test_a_policy_that_was_away_until_the_time_was_up_fails_the_run_with_why_it_was() -> None:
    def away(prompt: str) -> str:
        raise PolicyUnavailable("the server broke the connection", 0.05)

    with pytest.raises(ServiceError, match=r"no answer came .*: the server broke the connection"):
        evolve.run(SEED, evaluate=closeness, policy=away, budget={"wall_seconds": 0.4})


def test_a_critic_that_never_speaks_again_fails_the_run_and_is_named() -> None:
    calls = itertools.count()

    def critic(prompt: str) -> str:
        if next(calls):
            raise RuntimeError("no credit left")
        return "Try a larger number."

    with pytest.raises(ServiceError, match=r"the critic critic refuses every review: .*no credit left"):
        evolve.run(SEED, evaluate=closeness, policy=counting, critic=critic, evaluations=60)


def test_a_function_may_ask_to_be_asked_again() -> None:
    calls: list[str] = []

    def policy(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) == 1:
            raise PolicyUnavailable("warming up", retry_after_seconds=0.01)
        return f"x = {len(calls)}\n"

    result = evolve.run(SEED, evaluate=closeness, policy=policy, evaluations=3)
    assert result.account.evaluations == 3
    assert calls[0] == calls[1]
    assert [event.payload["reason"] for event in result.events if event.kind is EventKind.RUN_WAITING] == ["warming up"]


def test_a_policy_object_answers() -> None:
    problem = Problem(name="forty-two", seeds=(Program.of({"x.py": SEED}),), evaluator=EvaluatorSpec(text=True))
    given = evolve.run(problem, evaluate=closeness, policy=SyntaxPolicy(problem, answers=4), evaluations=12, seed=4)
    named = evolve.run(problem, evaluate=closeness, policy="syntax", evaluations=12, seed=4)
    assert plain(given) == plain(named)


@pytest.mark.filterwarnings("ignore:isolation is weak", "ignore:programs run without isolation")
def test_a_folder_is_scored_by_its_own_evaluator_with_a_policy_by_name() -> None:
    result = evolve.run(str(EXAMPLES / "maze"), policy="bundled:maze-vpo", evaluations=9, seed=2)
    assert result.problem.name == "maze"
    assert result.account.evaluations == 9
    assert {record["policy"] for record in result.candidates[1:]} == {"bundled:maze-vpo"}
    assert result.best is not None
    assert result.best.evaluation.isolation.endswith("/separate")


def test_a_folder_takes_a_function_in_place_of_its_evaluator() -> None:
    result = evolve.run(
        EXAMPLES / "two_files", evaluate=lambda files: {"length": float(len("".join(files.values())))}, evaluations=6
    )
    seed = result.candidates[0]
    assert seed["scores"] == {"length": float(sum(len(text) for _, text in result.problem.seeds[0].files))}


@pytest.mark.filterwarnings("ignore:isolation is weak", "ignore:programs run without isolation")
def test_a_function_is_run_in_the_sandbox_where_that_is_wanted() -> None:
    def evaluate(source: str) -> float:
        import os

        space: dict[str, Any] = {}
        exec(source, space)
        if space.get("x") != 7:
            os._exit(9)  # in this process it would end the test
        return re.match("x", source) is not None

    result = evolve.run(
        SEED, evaluate=evaluate, sandbox=True, limits=Limits(wall_seconds=20), objectives="fits", evaluations=4
    )
    assert result.scores == {"fits": 1.0}
    failed = [record["outcome"] for record in result.candidates if record["proposal_number"] and record["outcome"]]
    assert failed == ["crash"] * 3


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"evaluatons": 5}, ConfigurationError, "evolve.run: unknown key 'evaluatons': did you mean 'evaluations'?"),
        ({"objective": "x"}, ConfigurationError, "evolve.run: unknown key 'objective': did you mean 'objectives'?"),
        ({"islands": "four"}, ConfigurationError, "evolve.run: islands must be a whole number, not 'four'"),
        ({"budget": {"answer": 1}}, ConfigurationError, "did you mean 'budget.answers'?"),
        ({"problem": "no/such/folder"}, NotFoundError, "there is no folder 'no/such/folder'"),
        ({"problem": ""}, UsageError, "the problem is empty: give its folder"),
        ({"problem": str(EXAMPLES / "README.md")}, UsageError, "is a file: give its text, evolve.run(Path("),
        ({"problem": " \n"}, UsageError, "the problem is empty: give its folder"),
        ({"evaluate": None}, UsageError, "a seed's text needs evaluate"),
        ({"evaluate": 3}, UsageError, "evaluate is a int: give a function"),
        ({"policy": 3}, UsageError, "policy is a int: give a name, a Policy, or a function"),
        ({"policy": "bundled:maze-vp"}, NotFoundError, "maze-vpo"),
        ({"problem": 3}, UsageError, "the problem is int: give a folder, a seed's text with evaluate=..., or a class"),
        ({"problem": type("Empty", (), {})}, UsageError, "the problem is Empty: give a folder"),
        (
            {"problem": Unmade},
            UsageError,
            "Unmade cannot be made without arguments",
        ),
        (
            {"problem": Closeness, "sandbox": True, "evaluate": None},
            UsageError,
            "the sandbox needs evaluate as a named",
        ),
        ({"limits": Limits()}, UsageError, "limits hold in the sandbox alone"),
        ({"problem": EXAMPLES / "maze", "description": "x"}, UsageError, "description: a folder and a Problem say"),
        ({"measures": [Measure(name="size"), "size"]}, ProblemError, "two measures are called size"),
        (
            {"sandbox": True},
            UsageError,
            "closeness uses value_of, which is outside of it and not in the sandbox",
        ),
        ({"sandbox": True, "evaluate": len}, UsageError, "the sandbox needs evaluate as a named function"),
    ],
)
def test_what_is_off_is_refused_in_one_sentence_before_anything_runs(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    call: dict[str, Any] = {"problem": SEED, "evaluate": closeness, **given}
    with pytest.raises(error) as raised:
        evolve.run(call.pop("problem"), **call)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    exec(examples(DOCS / "how-to" / "notebook.md")[0], space)
    result = space["result"]
    assert result.fitness > result.candidates[0]["fitness"]
    assert result.source in capsys.readouterr().out


def test_asking_for_anything_else_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'rum'"):
        evolve.rum  # type: ignore[attr-defined] # noqa: B018 - the look-up is what is tested


def test_a_function_may_be_the_critic() -> None:
    asked: list[str] = []
    shown: list[str] = []

    def judge(prompt: str) -> str:
        asked.append(prompt)
        return f"<think>hm</think>Opinion {len(asked)}."

    def write(prompt: str) -> str:
        shown.append(prompt)
        return counting(prompt)

    result = evolve.run(SEED, evaluate=closeness, policy=write, critic=judge, evaluations=6, seed=1)
    answered = [event for event in result.events if event.kind is EventKind.PROPOSAL_ANSWERED]
    assert len(asked) == len(shown) >= len(answered) >= 5
    assert all(f"```\nOpinion {place}.\n```" in prompt for place, prompt in enumerate(shown, start=1))
    assert all("# Your review" in prompt and "Opinion" not in prompt for prompt in asked)
    assert {charge["policy"] for event in answered for charge in event.payload["charges"]} == {"judge"}
    again = evolve.run(SEED, evaluate=closeness, policy=write, critic=lambda _: "Another.", evaluations=6, seed=1)
    assert again.run_id != result.run_id


def test_a_function_may_be_the_advisor() -> None:
    shown: list[str] = []

    def guide(prompt: str) -> str:
        assert "# Your ideas" in prompt
        return "<idea_1>One.</idea_1><idea_2>Two.</idea_2>"

    def write(prompt: str) -> str:
        shown.append(prompt)
        return "".join(f"<answer_{place}>\n{counting(prompt)}\n</answer_{place}>\n" for place in (1, 2))

    result = evolve.run(SEED, evaluate=closeness, policy=write, advisor=guide, answers=2, evaluations=6, seed=1)
    answered = [event for event in result.events if event.kind is EventKind.PROPOSAL_ANSWERED]
    assert answered
    assert "Idea 1:\n```\nOne.\n```\nIdea 2:\n```\nTwo.\n```" in shown[0]
    assert all("Idea 1:\n```\nOne.\n```" in prompt for prompt in shown)
    assert {charge["policy"] for event in answered for charge in event.payload["charges"]} == {"guide"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"critic": lambda _: "x"}, "nobody reads what the critic function writes"),
        ({"critic": "judge", "policy": counting}, "critic is a str: give a function that takes a prompt"),
        ({"advisor": lambda _: "x"}, "nobody reads what the advisor function writes"),
        ({"advisor": "guide", "policy": counting}, "advisor is a str: give a function that takes a prompt"),
    ],
)
def test_a_critic_or_an_advisor_of_no_use_is_refused(words: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        evolve.run(SEED, evaluate=closeness, evaluations=5, **words)


def test_a_critic_of_a_policy_file_reviews_for_a_function(tmp_path: Path) -> None:
    with openai_server(lambda _: ["Larger steps."]) as server:
        file = tmp_path / "critic.toml"
        file.write_text(f'[[policies]]\nname = "judge"\nrole = "critic"\nbase_url = "{server.url}"\n')
        shown: list[str] = []

        def write(prompt: str) -> str:
            shown.append(prompt)
            return counting(prompt)

        evolve.run(SEED, evaluate=closeness, policy=[str(file), write], evaluations=4, seed=1)
        assert shown
        assert all("```\nLarger steps.\n```" in prompt for prompt in shown)
        with pytest.raises(UsageError, match="both have the role critic: a run takes one"):
            evolve.run(SEED, evaluate=closeness, policy=[str(file), write], critic=counting, evaluations=4)
        with pytest.raises(UsageError, match="a run also needs a policy that writes: name an author"):
            evolve.run(SEED, evaluate=closeness, policy=str(file), evaluations=4)

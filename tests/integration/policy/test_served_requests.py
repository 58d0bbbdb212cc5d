"""What requests to a server hold, what a server taught that all calls share, and what each attempt is charged for."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from evolve.proposal import Answer, CompletedReply, Message, Prompt, Proposal, Reply
from service.policy.openai import OpenAIPolicy
from service.policy.server import Server
from service.policy.tokens import Count
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer, Refuse, chain
from tests.fakes.refusing import KINDS, Body
from tests.integration.policy.conftest import KEY, Make, proposal
from tests.patience import PATIENCE_SECONDS


def respond(body: Mapping[str, Any]) -> list[str]:
    return [chain(*(f"x = {choice}{place}" for place in range(4))) for choice in range(body.get("n", 1))]


def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
    system, user = Message(role="system", parts=("Be brief.",)), Message(role="user", parts=("Improve x.",))
    return Prompt(messages=(system, user), tokens=count("Be brief. Improve x."))


async def replies(policy: OpenAIPolicy, asked: Proposal | None = None) -> tuple[list[Answer], CompletedReply]:
    got: list[Reply] = [reply async for reply in policy.propose(asked or proposal())]
    assert isinstance(got[-1], CompletedReply)
    return [reply for reply in got if isinstance(reply, Answer)], got[-1]


def learnt(policy: OpenAIPolicy) -> list[tuple[str, str]]:
    return [(notice.parameter, notice.action) for notice in policy.notices()]


def failing_template(body: Body) -> tuple[int, Any] | None:
    """A template without a system role behind llama.cpp, which says that it failed itself."""
    told = any(message["role"] == "system" for message in body["messages"])
    said = "Conversation roles must alternate user/assistant/user/assistant/... at row 3, column 9"
    return (500, {"error": {"code": 500, "message": said, "type": "server_error"}}) if told else None


def short_context(body: Body) -> tuple[int, Any] | None:
    """A context that the list of models did not tell."""
    asked = body["max_tokens"]
    said = (
        f"This model's maximum context length is 1024 tokens. However, you requested {asked + 100} tokens (100 in the"
        f" messages, {asked} in the completion). Please reduce the length of the messages or completion."
    )
    return (400, {"error": {"message": said, "param": "messages"}}) if asked + 100 > 1024 else None


@pytest.mark.parametrize(
    ("rule", "change"), [(failing_template, ("messages", "merged")), (short_context, ("max_tokens", "lowered"))]
)
async def test_a_template_that_fails_and_a_context_that_is_too_short_are_met_once(
    server: OpenAIServer, make: Make, rule: Refuse, change: tuple[str, str]
) -> None:
    server.respond, server.refuse = respond, rule
    policy = make(build=build)
    for _ in range(2):
        answers, _ = await replies(policy)
        assert len(answers) == 8
    assert learnt(policy) == [change]
    assert [rule(request.body) is not None for request in server.chats] == [True, False, False]


async def test_chains_wait_for_the_first_while_no_such_request_was_accepted(server: OpenAIServer, make: Make) -> None:
    server.respond, server.refuse = respond, KINDS["anthropic"].refuse
    policy = make(samples=3)
    answers, completed = await replies(policy, proposal(samples=3))
    assert len(answers) == 12
    # Of n, of top_p by the first chain alone, and then the three.
    assert completed.attempts == len(server.chats) == 5


@pytest.mark.parametrize(("status", "raised"), [(503, PolicyUnavailable), (403, PolicyDenied)])
async def test_a_first_chain_that_fails_holds_up_no_other(
    server: OpenAIServer, make: Make, status: int, raised: type[PolicyError]
) -> None:
    server.respond = respond
    server.refuse = lambda body: KINDS["groq"].refuse(body) or (status, {"error": "no"})
    with pytest.raises(raised):
        await replies(make())


async def test_calls_at_once_that_meet_one_refusal_tell_it_once(server: OpenAIServer, make: Make) -> None:
    server.respond, server.refuse = respond, KINDS["gemini"].refuse
    policy = make()
    results = await asyncio.gather(*(replies(policy, proposal(seed=seed)) for seed in range(8)))
    assert [len(answers) for answers, _ in results] == [8] * 8
    assert learnt(policy) == [("seed", "dropped")]


async def test_what_was_learnt_survives_a_look_at_the_server_and_not_another_model(
    server: OpenAIServer, make: Make
) -> None:
    server.respond, server.refuse = respond, KINDS["gemini"].refuse
    policy = make()
    await replies(policy)
    policy.connection.found = None
    await replies(policy)
    assert "seed" not in server.chats[-1].body
    policy.connection.found = None
    server.models = ["newer"]
    await replies(policy)
    assert ["seed" in request.body for request in server.chats[-2:]] == [True, False]


async def test_a_key_that_a_refusal_repeats_is_told_nowhere(server: OpenAIServer, make: Make) -> None:
    server.respond = respond
    body = {"error": {"message": f"Unknown parameter: 'seed' of {KEY}.", "param": "seed"}}
    server.refuse = lambda asked: (400, body) if "seed" in asked else None
    policy = make(key=KEY)
    await replies(policy)
    (notice,) = policy.notices()
    assert KEY not in notice.reason
    assert "***" in notice.reason


# ---------------------------------------------------------------- what is sent besides


async def test_parameters_of_the_user_are_sent_as_they_are(server: OpenAIServer, make: Make) -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    await replies(make(reasoning_effort="low", params={"top_k": 20, "stop": ["###"]}, extra_body=extra))
    sent = server.chats[0].body
    assert (sent["top_k"], sent["stop"], sent["reasoning_effort"]) == (20, ["###"], "low")
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}


async def test_a_version_in_the_address_goes_with_every_request_and_its_key_as_such_servers_want_it(
    server: OpenAIServer, make: Make
) -> None:
    policy = make(key=KEY, base_url=f"{server.url}?api-version=2024-10-21")
    asked: list[str] = []

    async def note(request: Any) -> None:
        asked.append(str(request.url))

    assert isinstance(policy.connection.server, Server)
    policy.connection.server._client.event_hooks["request"].append(note)
    answers, _ = await replies(policy)
    assert len(answers) == 8
    assert all(url.endswith("?api-version=2024-10-21") for url in asked)
    headers = server.chats[0].headers
    assert (headers.get("api-key"), headers.get("authorization")) == (KEY, None)


# ---------------------------------------------------------------- pauses, and what was paid


async def test_a_stream_that_pauses_for_too_long_is_cut(server: OpenAIServer, make: Make) -> None:
    server.characters = 1000
    release = threading.Event()
    server.script(fake.Reply(hold_after=1, release=release))
    _, completed = await replies(make(timeout_seconds=0.2))
    release.set()
    assert completed.finish_reasons == ("cut", "cut")


async def test_tokens_of_an_attempt_that_failed_are_paid_too(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(error_after=2))
    _, completed = await replies(make(price={"input": "1", "output": "1"}))
    told = server._usage(list(completed.completions), server.chats[-1].body)
    assert completed.attempts == 2
    assert completed.prompt is not None
    assert completed.usage.input == told["prompt_tokens"] + completed.prompt.tokens
    # Of the attempt that failed two pieces of 16 characters came, at 3.5 characters a token.
    assert completed.usage.output == told["completion_tokens"] + 2 * 5
    assert completed.cost is not None
    assert completed.cost.amount * 10**6 == completed.usage.total


async def test_a_proposal_that_fails_at_last_tells_what_was_written_by_then(server: OpenAIServer, make: Make) -> None:
    server.script(*[fake.Reply(error_after=2)] * 3)
    got: list[Reply] = []

    async def listen() -> None:
        async for reply in make().propose(proposal()):
            got.append(reply)  # noqa: PERF401 -- what came before the error counts

    with pytest.raises(PolicyUnavailable):
        await listen()
    (last,) = got
    assert isinstance(last, CompletedReply)
    assert last.usage.output > 0
    assert last.attempts == 3


# ---------------------------------------------------------------- reasoning


def thinking(*events: tuple[dict[str, str], str | None], reasoning_tokens: int) -> fake.Reply:
    """A stream of one choice, with what it thinks in a field of its own."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in events
    ]
    details = {"reasoning_tokens": reasoning_tokens}
    usage = {"prompt_tokens": 9, "completion_tokens": 50, "completion_tokens_details": details}
    chunks.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return fake.Reply(raw="".join([*lines, "data: [DONE]\n\n"]).encode())


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_out_of_answers_and_in_the_record(server: OpenAIServer, make: Make, field: str) -> None:
    written = (
        ({field: "<answer_1>no</answer_1> "}, None),
        ({field: "z" * 20_000}, None),
        ({"content": chain("x = 1")}, "stop"),
    )
    server.script(thinking(*written, reasoning_tokens=40))
    answers, completed = await replies(make(samples=1), proposal(samples=1))
    assert [answer.text for answer in answers] == ["x = 1"]
    assert completed.completions == (chain("x = 1"),)
    assert completed.reasoning[0].startswith("<answer_1>no</answer_1> zzz")
    assert len(completed.reasoning[0]) == 16_384
    assert (completed.usage.output, completed.usage.reasoning) == (50, 40)


async def test_reasoning_in_front_of_the_text_is_recorded_apart_from_it(server: OpenAIServer, make: Make) -> None:
    thought, program = "<answer_1>no</answer_1> hm", chain("x = 1")
    written = (
        ({"content": "<think>"}, None),
        ({"content": f"{thought}</th"}, None),
        ({"content": f"ink>{program}"}, "stop"),
    )
    server.script(thinking(*written, reasoning_tokens=0))
    answers, completed = await replies(make(samples=1), proposal(samples=1))
    assert [answer.text for answer in answers] == ["x = 1"]
    assert (completed.reasoning, completed.completions) == ((thought,), (program,))


@pytest.mark.parametrize("delta", [{"reasoning_content": "Let me think."}, {"content": "<think>Let me think."}, {}])
async def test_reasoning_that_takes_all_tokens_is_said(server: OpenAIServer, make: Make, delta: dict[str, str]) -> None:
    server.script(thinking((delta, None), ({}, "length"), reasoning_tokens=50))
    answers, completed = await replies(make(samples=1, max_tokens=50), proposal(samples=1))
    assert answers == []
    said = [dropped.reason for dropped in completed.dropped]
    assert any("the reasoning took all 50 tokens: set a larger max_tokens" in reason for reason in said)


LOOP = "x = 1\n" * 3_000


@pytest.fixture
def unfinished() -> Iterator[fake.Reply]:
    """A reply that stops before its end: without this the server may have sent it all before the policy hangs up."""
    release = threading.Event()
    yield fake.Reply(hold_after=200, release=release)
    release.set()


@pytest.mark.parametrize("samples", [1, 2])
async def test_a_reply_that_goes_on_behind_its_last_answer_is_left(
    server: OpenAIServer, make: Make, unfinished: fake.Reply, samples: int
) -> None:
    server.characters = 64
    server.script(unfinished)
    server.respond = lambda body: [chain("x = 1", "x = 2") + " and so on" * 5_000 for _ in range(body["n"])]
    answers, completed = await replies(make(answers=2), proposal(answers=2, samples=samples))
    assert len(answers) == 2 * samples
    assert completed.finish_reasons == ("stopped",) * samples
    assert all(len(text) < 5_000 for text in completed.completions)
    assert await asyncio.to_thread(server.hung_up.wait, PATIENCE_SECONDS)
    assert 0 < completed.usage.output < 2_000 * samples
    assert make().connection.health()["breaker"] == "closed"


async def test_a_reply_that_ends_soon_behind_its_last_answer_tells_its_tokens(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda body: [f"{chain('x = 1')} That is all." for _ in range(body["n"])]
    _, completed = await replies(make(answers=1), proposal(answers=1))
    assert completed.finish_reasons == ("stop", "stop")
    assert completed.usage.output == sum(server.count(text) for text in completed.completions)
    assert not server.hung_up.is_set()


async def test_a_reply_that_only_repeats_itself_is_left_and_told(
    server: OpenAIServer, make: Make, unfinished: fake.Reply
) -> None:
    server.characters = 64
    server.script(unfinished)
    server.respond = lambda body: [f"{chain('y = 2')}\n<answer_2>\n{LOOP}" for _ in range(body["n"])]
    answers, completed = await replies(make(answers=2), proposal(answers=2))
    assert [answer.text for answer in answers] == ["y = 2", "y = 2"]
    assert completed.finish_reasons == ("repetition", "repetition")
    assert {dropped.reason for dropped in completed.dropped} == {
        "the completion only repeated itself, so it was stopped"
    }
    assert all(len(text) < 5_000 for text in completed.completions)
    assert await asyncio.to_thread(server.hung_up.wait, PATIENCE_SECONDS)


BEGINNING = "```python\nLOW = 1\n\n\ndef f(x):"


def begun(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
    return Prompt(
        messages=(Message(role="user", parts=("Improve f.",)), Message(role="assistant", parts=(BEGINNING,))), tokens=9
    )


async def test_a_server_is_asked_to_go_on_from_a_beginning_which_is_no_part_of_what_it_wrote(
    server: OpenAIServer, make: Make
) -> None:
    server.owner = "vllm"
    rest = "\n    return x + LOW\n```"
    server.respond = lambda body: [rest] * body["n"]
    policy = make(build=begun, edits="continue", params={"stop": ["END"]})
    found, completed = await replies(policy, proposal(answers=1))
    assert [answer.text for answer in found] == [BEGINNING + rest] * 2
    assert completed.completions == (rest, rest)
    (asked,) = [request.body for request in server.requests if request.path.endswith("/chat/completions")]
    assert asked["messages"][-1] == {"role": "assistant", "content": BEGINNING}
    assert (asked["continue_final_message"], asked["add_generation_prompt"]) == (True, False)
    assert (asked["stop"], asked["include_stop_str_in_output"]) == (["END", "\n```"], True)


async def test_a_continued_program_that_nothing_can_mend_is_left(server: OpenAIServer, make: Make) -> None:
    server.owner, server.characters = "vllm", 64
    rest = "\n    return (x, 1))\n" + "".join(f"y{n} = {n}\n" for n in range(2_000)) + "```"
    server.respond = lambda body: [rest] * body["n"]
    _, completed = await replies(make(build=begun, edits="continue"), proposal(answers=1))
    assert completed.finish_reasons == ("broken", "broken")


async def test_a_server_that_is_not_known_to_continue_replies_is_not_asked_to(server: OpenAIServer, make: Make) -> None:
    with pytest.raises(PolicyDenied, match=r'which edits = "continue" needs: use vLLM'):
        await make(build=begun, edits="continue").check()
    policy = make()
    await policy.check()
    assert "continue:1" not in [form.name for form in policy.forms]


@pytest.mark.parametrize(("answers", "left"), [(1, True), (2, False)])
async def test_a_program_that_nothing_can_mend_is_left_and_told(
    server: OpenAIServer, make: Make, unfinished: fake.Reply, answers: int, *, left: bool
) -> None:
    server.characters = 64
    if left:
        server.script(unfinished)
    program = "```python\ndef f(x):\n    return (x, 1))\n" + "".join(f"y{n} = {n}\n" for n in range(2_000)) + "```"
    server.respond = lambda body: [program] * body["n"]
    found, completed = await replies(make(answers=answers), proposal(answers=answers))
    if not left:  # another answer may follow
        assert completed.finish_reasons == ("stop", "stop")
        return
    assert found == []
    assert completed.finish_reasons == ("broken", "broken")
    assert {dropped.reason for dropped in completed.dropped} == {"the program is not valid Python: unmatched ')'"}
    assert all(len(text) < 2_000 for text in completed.completions)
    assert await asyncio.to_thread(server.hung_up.wait, PATIENCE_SECONDS)


async def test_one_chain_that_ends_waits_for_the_others(server: OpenAIServer, make: Make) -> None:
    server.characters = 64
    server.respond = lambda _: [chain("x = 1") + " and so on" * 500, " ".join(map(str, range(1_500))) + chain("x = 2")]
    answers, completed = await replies(make(answers=1), proposal(answers=1))
    assert {answer.text for answer in answers} == {"x = 1", "x = 2"}
    assert completed.finish_reasons[0] == "stopped"

import asyncio
import json
import threading
from contextlib import aclosing
from decimal import Decimal

import httpx
import numpy as np
import pytest

from evolve.errors import PolicyDenied, PolicyRefused, PolicyUnavailable
from evolve.money import Money
from evolve.prompt.control_tokens import BREAK, neutralise
from evolve.proposal import Answer, CompletedReply, Message, Prompt, Proposal, Reply, Usage
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy.tokens import Count, estimate_tokens
from service.policy_settings.settings import PolicySettings
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer, chain
from tests.integration.policy.conftest import KEY, Make, Time, build_prompt, proposal


async def replies(policy: OpenAIPolicy, asked: Proposal | None = None) -> tuple[list[Answer], CompletedReply]:
    got: list[Reply] = [reply async for reply in policy.propose(asked or proposal())]
    *answers, completed = got
    assert isinstance(completed, CompletedReply)
    assert all(isinstance(answer, Answer) for answer in answers)
    return [answer for answer in answers if isinstance(answer, Answer)], completed


async def test_n_chains_give_m_answers_each(server: OpenAIServer, make: Make) -> None:
    answers, completed = await replies(make())
    assert {(a.chain, a.index): a.text for a in answers} == {(c, i): f"x = {c}{i}" for c in range(2) for i in range(4)}
    assert completed.completions == tuple(chain(*(f"x = {c}{i}" for i in range(4))) for c in range(2))
    assert completed.finish_reasons == ("stop", "stop")
    assert (completed.attempts, completed.dropped) == (1, ())
    assert completed.prompt is not None
    assert completed.prompt.shown == ("cnd_parent",)


async def test_the_request_says_what_the_settings_and_the_proposal_say(server: OpenAIServer, make: Make) -> None:
    await replies(make(temperature=0.7, top_p=0.9, max_tokens=100), proposal(seed=2**40 + 5))
    (chat,) = server.chats
    assert chat.body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "Improve in 4 ways:\nx = 1\n"}],
        "n": 2,
        "seed": 5,
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_an_answer_is_handed_on_while_the_next_is_written(server: OpenAIServer, make: Make) -> None:
    release = threading.Event()
    # The first answer is complete after its tags have come; the rest waits until the test has the answer in hand.
    server.characters = 1000
    server.respond = lambda _: [chain("x = 1"), chain("x = 2")]
    server.script(fake.Reply(hold_after=1, release=release))
    async with aclosing(make().propose(proposal())) as stream:
        first = await anext(stream)
        assert first == Answer(chain=0, index=0, text="x = 1", shown=("cnd_parent",))
        assert not release.is_set()
        release.set()
        assert await anext(stream) == Answer(chain=1, index=0, text="x = 2", shown=("cnd_parent",))


async def test_usage_is_the_servers_own_and_the_cache_is_not_summed(server: OpenAIServer, make: Make) -> None:
    _, completed = await replies(make())
    given = server.count("Improve in 4 ways:\nx = 1\n")
    written = sum(server.count(text) for text in completed.completions)
    assert completed.usage == Usage(input=given, cached=given // 2, output=written)


async def test_without_usage_tokens_are_estimated(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(usage=False))
    _, completed = await replies(make())
    assert completed.usage.output == sum(estimate_tokens(text) for text in completed.completions)
    assert completed.usage.input == estimate_tokens("Improve in 4 ways:\nx = 1\n")


@pytest.mark.parametrize(("limit", "chains", "count"), [(8, 2, 8), (6, 2, 6), (4, 1, 4), (1, 1, 1)])
async def test_no_more_answers_come_than_the_limit(
    server: OpenAIServer, make: Make, limit: int, chains: int, count: int
) -> None:
    answers, completed = await replies(make(), proposal(limit=limit))
    assert len(answers) == count
    assert all(answer.chain * 4 + answer.index < limit for answer in answers)
    assert server.chats[0].body["n"] == chains
    assert len(completed.dropped) == (1 if limit % 4 else 0)


async def test_without_temperature_one_chain_is_asked_for(server: OpenAIServer, make: Make) -> None:
    policy = make(temperature=0.0)
    answers, _ = await replies(policy)
    assert (policy.samples, server.chats[0].body["n"], len(answers)) == (1, 1, 4)


async def test_an_answer_in_whole_instead_of_a_stream_is_taken(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(plain=True))
    answers, completed = await replies(make())
    assert (len(answers), completed.finish_reasons) == (8, ("stop", "stop"))


async def test_a_server_that_ignores_n_is_asked_for_each_chain(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda body: [chain(f"x = {body['seed']}")]
    policy = make()
    answers, completed = await replies(policy)
    assert [answer.chain for answer in answers] == [0, 1]
    assert answers[0].text != answers[1].text
    assert completed.attempts == len(server.chats) == 2
    assert completed.usage.input == 2 * 8
    (notice,) = policy.notices()
    assert (notice.parameter, notice.action) == ("n", "dropped")
    await replies(policy)
    assert ["n" in request.body for request in server.chats] == [True, False, False, False]
    assert policy.notices() == ()


async def test_garbage_is_dropped_with_its_reason(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda _: ["I am sorry.", chain("x = 1")]
    answers, completed = await replies(make())
    assert [answer.chain for answer in answers] == [1]
    assert [(dropped.chain, bool(dropped.reason)) for dropped in completed.dropped] == [(0, True)]


async def test_an_answer_that_ran_out_of_tokens_is_dropped(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda _: [chain("x = 1") + "\n<answer_2>\nx ="]
    server.script(fake.Reply(finish_reason="length"))
    answers, completed = await replies(make(samples=1), proposal(samples=1))
    assert [answer.text for answer in answers] == ["x = 1"]
    assert completed.finish_reasons == ("length",)
    assert completed.dropped


async def test_halves_of_characters_and_nul_do_not_get_through(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda _: [chain("x = '\ud83d \x00'")]
    answers, completed = await replies(make(samples=1), proposal(samples=1))
    assert answers[0].text == "x = '\ufffd \ufffd'"
    assert "".join(completed.completions).encode()


# ---------------------------------------------------------------- failures that pass


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_what_may_pass_is_tried_again_with_the_same_seed(
    server: OpenAIServer, make: Make, clock: Time, status: int
) -> None:
    server.script(fake.Reply(status=status, body="busy"), fake.Reply(status=status))
    answers, completed = await replies(make())
    assert (len(answers), completed.attempts, len(clock.slept)) == (8, 3, 2)
    assert len({json.dumps(chat.body) for chat in server.chats}) == 1


async def test_retry_after_is_waited_for(server: OpenAIServer, make: Make, clock: Time) -> None:
    server.script(fake.Reply(status=429, headers={"retry-after": "7"}))
    await replies(make())
    assert clock.slept == [7.0]


async def test_a_long_retry_after_goes_to_the_caller(server: OpenAIServer, make: Make, clock: Time) -> None:
    server.script(fake.Reply(status=503, headers={"retry-after": "120"}))
    with pytest.raises(PolicyUnavailable, match="503") as caught:
        await replies(make())
    assert (caught.value.retry_after_seconds, clock.slept) == (120.0, [])


async def test_after_the_last_attempt_the_failure_goes_to_the_caller(server: OpenAIServer, make: Make) -> None:
    server.script(*[fake.Reply(status=500, body={"error": {"message": "engine died"}})] * 3)
    with pytest.raises(PolicyUnavailable, match="engine died") as caught:
        await replies(make())
    assert caught.value.retry_after_seconds > 0.0
    assert len(server.chats) == 3


@pytest.mark.parametrize(
    "reply",
    [
        fake.Reply(cut_after=0),
        fake.Reply(cut_after=1),
        fake.Reply(error_after=1),
        fake.Reply(raw=b"data: {broken\n\n"),
        fake.Reply(raw=b"data: [1, 2]\n\n"),
        fake.Reply(raw=b'data: {"choices": [3]}\n\n'),
        fake.Reply(raw=b'data: {"choices": [{"index": "a", "delta": {}}]}\n\n'),
        fake.Reply(raw=b"data: " + b"[" * 100_000 + b"\n\n"),
        fake.Reply(raw=b"data: " + b"x" * (3 << 20)),
        fake.Reply(raw=b": only a comment\n\n"),
        fake.Reply(raw=b""),
    ],
)
async def test_a_stream_that_breaks_before_the_first_answer_is_tried_again(
    server: OpenAIServer, make: Make, reply: fake.Reply
) -> None:
    server.script(reply)
    answers, completed = await replies(make())
    assert (len(answers), completed.attempts) == (8, 2)


@pytest.mark.parametrize("reply", [fake.Reply(cut_after=2), fake.Reply(error_after=2)])
async def test_a_stream_that_breaks_later_keeps_what_came(server: OpenAIServer, make: Make, reply: fake.Reply) -> None:
    server.characters = 1000
    server.respond = lambda _: [chain("x = 1"), "<answer_1>\nx = 2\n</answer_1>\n<answer_2>\nx ="]
    server.script(reply)
    answers, completed = await replies(make())
    assert [answer.text for answer in answers] == ["x = 1", "x = 2"]
    assert (completed.finish_reasons, completed.attempts) == (("cut", "cut"), 1)
    assert [dropped.chain for dropped in completed.dropped] == [1]
    assert completed.usage.output > 0


async def test_a_server_that_is_away_is_named_with_its_address(server: OpenAIServer, make: Make) -> None:
    policy = make(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(PolicyUnavailable, match=r"127\.0\.0\.1:9/v1: .*refused"):
        await policy.check()


async def test_a_silent_server_is_given_up(server: OpenAIServer, make: Make) -> None:
    release = threading.Event()
    server.script(*[fake.Reply(release=release)] * 3)
    with pytest.raises(PolicyUnavailable, match=r"did not answer within 0\.05 seconds"):
        await replies(make(timeout_seconds=0.05))
    release.set()


async def test_a_server_that_trickles_is_cut_at_the_deadline(server: OpenAIServer, make: Make, clock: Time) -> None:
    server.characters = 1000
    release = threading.Event()
    server.script(fake.Reply(hold_after=1, release=release))
    got: list[Reply] = []
    # Sixty seconds for the longest pause, and two for each of the tokens of both chains.
    async for reply in make(timeout_seconds=60, max_tokens=100).propose(proposal()):
        got.append(reply)
        clock.seconds += 60.0 + 2 * 200 + 1
        release.set()
    assert isinstance(got[-1], CompletedReply)
    assert got[-1].finish_reasons == ("cut", "cut")


# ---------------------------------------------------------------- failures that stay


async def test_a_refused_proposal_is_not_tried_again(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(status=400, body={"error": {"message": "maximum context length is 8192"}}))
    with pytest.raises(PolicyRefused, match="maximum context length is 8192"):
        await replies(make())
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    "reply",
    [
        fake.Reply(status=403, body="no"),
        fake.Reply(status=404, body={"error": {"message": "gone"}}),
        fake.Reply(status=400, body={"error": {"message": "gone", "code": "model_not_found"}}),
        fake.Reply(status=302, headers={"location": "http://elsewhere.invalid/"}),
        fake.Reply(status=405, body="<html>Method Not Allowed</html>"),
        fake.Reply(status=501, body="Unsupported method ('POST')"),
    ],
)
async def test_what_lasts_is_denied_at_once(server: OpenAIServer, make: Make, reply: fake.Reply) -> None:
    server.script(reply)
    with pytest.raises(PolicyDenied):
        await replies(make())
    assert len(server.chats) == 1


async def test_a_wrong_key_is_said_in_one_sentence_without_the_key(server: OpenAIServer, make: Make) -> None:
    server.key = "another"
    with pytest.raises(PolicyDenied, match=r"refuses the key from MY_KEY.*Unauthorized") as caught:
        await make(key=KEY, api_key_env="MY_KEY").check()
    assert KEY not in str(caught.value)


async def test_a_missing_key_is_asked_for(server: OpenAIServer, make: Make) -> None:
    server.key = KEY
    with pytest.raises(PolicyDenied, match="needs a key: set the environment variable EVOLVE_POLICY_API_KEY"):
        await make().check()


async def test_the_right_key_is_sent_and_shown_nowhere(server: OpenAIServer, make: Make) -> None:
    server.key = KEY
    policy = make(key=KEY)
    _, completed = await replies(policy)
    shown = [repr(policy), repr(vars(policy)), repr(policy.settings), json.dumps(policy.settings.describe())]
    assert KEY not in "".join(shown) + repr(completed)


async def test_a_key_that_the_server_repeats_is_starred(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(status=400, body={"error": f"bad key {KEY}"}))
    with pytest.raises(PolicyRefused, match=r"bad key \*\*\*"):
        await replies(make(key=KEY))


async def test_a_long_and_ugly_message_is_trimmed_to_a_line(server: OpenAIServer, make: Make) -> None:
    server.script(fake.Reply(status=400, body="<html><b>no\n\x1b[31m</b>" + "x" * 100_000))
    with pytest.raises(PolicyRefused) as caught:
        await replies(make())
    text = str(caught.value)
    assert len(text) < 500
    assert text.isprintable()


# ---------------------------------------------------------------- the breaker


async def test_a_failing_server_is_left_alone_and_tried_again_later(
    server: OpenAIServer, make: Make, clock: Time
) -> None:
    policy = make(failures=2)
    server.script(*[fake.Reply(status=500)] * 2)
    with pytest.raises(PolicyUnavailable) as first:
        await replies(policy)
    asked = len(server.chats)
    with pytest.raises(PolicyUnavailable) as second:
        await replies(policy)
    assert str(first.value) == str(second.value)
    assert "status 500" in str(second.value)
    assert (asked, len(server.chats)) == (2, 2)
    assert first.value.retry_after_seconds == second.value.retry_after_seconds == 5.0
    clock.seconds += second.value.retry_after_seconds
    answers, _ = await replies(policy)
    assert len(answers) == 8


async def test_a_server_that_was_away_is_looked_at_again_with_growing_waits(
    server: OpenAIServer, make: Make, clock: Time
) -> None:
    policy = make(failures=4)
    server.script(*[fake.Reply(status=503, body="loading")] * 3)
    with pytest.raises(PolicyUnavailable, match="loading"):
        await replies(policy)
    server.models, server.context_tokens = {"loading": True}, 4096  # it is back in part, with another context
    waits = []
    for _ in range(3):
        with pytest.raises(PolicyUnavailable) as caught:
            await replies(policy)
        waits.append(caught.value.retry_after_seconds)
    assert waits == [5.0, 5.0, 5.0]
    clock.seconds += 5.0
    with pytest.raises(PolicyUnavailable) as caught:
        await replies(policy)
    assert caught.value.retry_after_seconds == 10.0
    clock.seconds += 10.0
    server.models = ["fake"]
    await replies(policy)
    assert (await policy.connection.known(policy.check)).context_tokens == 4096


async def test_refusals_do_not_open_the_breaker(server: OpenAIServer, make: Make) -> None:
    policy = make(failures=1)
    server.script(*[fake.Reply(status=400, body="no")] * 3)
    for _ in range(3):
        with pytest.raises(PolicyRefused):
            await replies(policy)
    assert len(server.chats) == 3


async def test_leaving_early_hangs_up(server: OpenAIServer, make: Make) -> None:
    server.characters = 1
    server.respond = lambda _: [chain(*["x = 1\n" * 20_000] * 2), chain("x = 2")]
    async with aclosing(make().propose(proposal())) as stream:
        await anext(stream)
    assert await asyncio.to_thread(server.hung_up.wait, 10.0)


# ---------------------------------------------------------------- models, tokens, control tokens


async def test_the_only_model_is_taken(server: OpenAIServer, make: Make) -> None:
    served = await make().check()
    assert (served.model, served.context_tokens, served.tokenizer) == ("fake", 8192, False)


async def test_a_server_that_changed_its_model_is_looked_at_again(server: OpenAIServer, make: Make) -> None:
    policy = make()
    await replies(policy)
    server.models = ["newer"]
    with pytest.raises(PolicyDenied, match="fake"):
        await replies(policy)
    answers, _ = await replies(policy)
    assert (len(answers), server.chats[-1].body["model"]) == (8, "newer")


async def test_several_models_are_named_for_the_user_to_choose(server: OpenAIServer, make: Make) -> None:
    server.models = ["a", "b"]
    with pytest.raises(PolicyDenied, match="several models: name one of a, b with --model"):
        await make().check()


async def test_an_unknown_model_is_answered_with_those_offered(server: OpenAIServer, make: Make) -> None:
    server.models = ["a", "b"]
    with pytest.raises(PolicyDenied, match="does not know the model c: it offers a, b"):
        await make(model="c").check()


async def test_a_context_that_nobody_tells_is_the_settings(server: OpenAIServer, make: Make) -> None:
    server.context_tokens = None
    assert (await make(context_tokens=5000).check()).context_tokens == 5000


@pytest.mark.parametrize("models", [{"data": 3}, {"data": []}, [], {"data": [3, {"id": None}]}, "text"])
async def test_a_list_of_models_that_makes_no_sense_is_an_error(
    server: OpenAIServer, make: Make, models: object
) -> None:
    server.models = models
    with pytest.raises((PolicyDenied, PolicyUnavailable)):
        await make().check()


@pytest.mark.parametrize(
    ("models", "chats", "said"),
    [
        ((404, "", ""), (405, "text/html", "<html>Method Not Allowed</html>"), "Method Not Allowed"),
        ((501, "", ""), (501, "text/plain", "Unsupported method ('POST')"), "Unsupported method"),
        ((404, "", ""), (404, "application/json", '{"detail":"Not Found"}'), "Not Found"),
        ((405, "", ""), (200, "text/html; charset=utf-8", "<html>welcome</html>"), "web page"),
        ((200, "text/html", "<html>welcome</html>"), (400, "", ""), "web page"),
        ((404, "", ""), (401, "application/json", '{"error":"no"}'), "needs a key"),
    ],
)
async def test_what_is_no_such_server_is_denied_before_anything_is_asked(
    models: tuple[int, str, str], chats: tuple[int, str, str], said: str
) -> None:
    policy = at_hand(models, chats)
    with pytest.raises(PolicyDenied, match=said):
        await policy.check()
    await policy.close()


@pytest.mark.parametrize("status", [200, 400, 422, 500])
async def test_a_server_that_only_lists_no_models_is_taken(status: int) -> None:
    policy = at_hand((404, "", ""), (status, "application/json", '{"error": {"message": "no messages"}}'))
    assert (await policy.check()).model == "mine"
    await policy.close()


def at_hand(models: tuple[int, str, str], chats: tuple[int, str, str]) -> OpenAIPolicy:
    """A policy at a server that says the same to every such request: status, kind of content, body."""

    def answer(request: httpx.Request) -> httpx.Response:
        status, kind, text = {"/v1/models": models, "/v1/chat/completions": chats}.get(request.url.path, (404, "", ""))
        return httpx.Response(status, headers={"content-type": kind}, text=text)

    settings = PolicySettings(base_url="http://h/v1", model="mine")
    transport = httpx.MockTransport(answer)
    connection: ServerConnection[PreflightResult] = ServerConnection(
        settings, rng=np.random.default_rng(1), transport=transport
    )
    return OpenAIPolicy(connection, build_prompt=build_prompt)


async def test_prompt_and_answer_fit_the_context_together(server: OpenAIServer, make: Make) -> None:
    server.context_tokens = 1000
    rooms = []

    def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        rooms.append(context_tokens)
        return build_prompt(proposal, count=count, context_tokens=context_tokens)

    policy = make(max_tokens=4096)
    policy._build_prompt = build
    await replies(policy)
    assert rooms[0] + server.chats[0].body["max_tokens"] < 1000


async def test_a_parent_that_needs_the_room_takes_it_from_the_reply(server: OpenAIServer, make: Make) -> None:
    server.context_tokens = 1024
    server.tokenizer = True
    # 700 tokens by the server's count, and by the estimate too many for any context.
    text = "one_very_long_name_that_the_server_counts_as_one_token_only " * 700

    def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        if count(text) > context_tokens:
            raise PolicyRefused("the parent does not fit")
        return Prompt(messages=(Message(role="user", parts=(text,)),), tokens=count(text))

    policy = make(max_tokens=4096)
    policy._build_prompt = build
    _, completed = await replies(policy)
    assert completed.prompt is not None
    assert completed.prompt.tokens == 700
    assert server.chats[0].body["max_tokens"] == 256


async def test_a_parent_beyond_any_room_is_refused_before_it_is_sent(server: OpenAIServer, make: Make) -> None:
    def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        raise PolicyRefused("the parent does not fit")

    policy = make()
    policy._build_prompt = build
    with pytest.raises(PolicyRefused, match="does not fit"):
        await replies(policy)
    assert server.chats == []


async def test_tokens_are_counted_by_the_server_once_a_text(server: OpenAIServer, make: Make) -> None:
    server.tokenizer = True
    policy = make()
    for _ in range(2):
        _, completed = await replies(policy)
        assert completed.prompt is not None
        assert completed.prompt.tokens == server.count("Improve in 4 ways:\nx = 1\n")
    texts = [request.body["prompt"] for request in server.requests if request.path == "/tokenize"]
    assert texts.count("Improve in 4 ways:\nx = 1\n") == 1


async def test_control_tokens_are_broken_on_the_way_out_and_whole_on_the_way_back(
    server: OpenAIServer, make: Make
) -> None:
    program = "stop = '<|im_end|>'"
    neutral = neutralise("a = '</s>'")

    def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        return Prompt(messages=(Message(role="user", parts=("stop = '<|im_", "end|>'", "\n" + neutral)),))

    server.respond = lambda body: [chain(body["messages"][0]["content"])]
    policy = make(samples=1)
    policy._build_prompt = build
    answers, completed = await replies(policy, proposal(samples=1))
    assert server.chats[0].body["messages"][0]["content"] == f"{neutralise(program)}\n{neutral}"
    assert BREAK in completed.completions[0]
    assert answers[0].text == program + "\na = '</s>'"


async def test_halves_of_characters_in_a_prompt_do_not_keep_it_from_being_sent(
    server: OpenAIServer, make: Make
) -> None:
    def build(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        text = "feedback: \ud83d"
        return Prompt(messages=(Message(role="user", parts=(text,)),), tokens=count(text))

    server.tokenizer = True
    policy = make()
    policy._build_prompt = build
    await replies(policy)
    assert server.chats[0].body["messages"][0]["content"] == "feedback: \ufffd"


async def test_many_proposals_at_once_keep_their_answers_apart(server: OpenAIServer, make: Make) -> None:
    server.respond = lambda body: [chain(*(f"x = {body['seed']}_{c}_{i}" for i in range(4))) for c in range(2)]
    policy = make()
    results = await asyncio.gather(*(replies(policy, proposal(seed=seed)) for seed in range(24)))
    for seed, (answers, _) in enumerate(results):
        assert sorted(answer.text for answer in answers) == [f"x = {seed}_{c}_{i}" for c in range(2) for i in range(4)]


async def test_a_call_that_is_cancelled_tells_what_was_written_and_what_that_cost(
    server: OpenAIServer, make: Make
) -> None:
    release = threading.Event()
    server.script(fake.Reply(hold_after=6, release=release))
    policy = make(price={"input": "1", "output": "1000000", "currency": "EUR"})
    told: list[Reply] = []
    begun = asyncio.Event()

    async def listen() -> None:
        async with aclosing(policy.propose(proposal())) as stream:
            async for reply in stream:
                told.append(reply)
                begun.set()

    call = asyncio.create_task(listen())
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()
    completed = told[-1]
    assert isinstance(completed, CompletedReply)
    written = sum(estimate_tokens(text) for text in completed.completions)
    assert written
    assert completed.usage.output == written
    assert completed.cost == Money(amount=Decimal(written * 10**6 + completed.usage.input).scaleb(-6), currency="EUR")

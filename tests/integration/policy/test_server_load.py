"""What a policy makes of the queue at its server, through real HTTP."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import pytest
from prometheus_client import REGISTRY

from evolve.errors import PolicyRefused
from evolve.proposal import Proposal
from service.bootstrap.policies import ConfiguredPolicies
from service.config import PoliciesSettings
from service.net.transport import PinnedTransport
from service.policy import calls
from service.policy.concurrency_controller import FIRST_CALLS, ConcurrencyLoad
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy.server_load import QUIET_SECONDS
from service.policy_settings.settings import PolicySettings
from service.usecases.plan import RunOrder, plan_new
from tests.e2e.evolving import make_problem
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer
from tests.integration.policy.conftest import Make, Time, build_prompt, proposal
from tests.patience import PATIENCE_SECONDS

CALLS = 16


async def answered(policy: OpenAIPolicy, asked: Proposal | None = None) -> None:
    async for _ in policy.propose(asked or proposal()):
        pass


def looks(server: OpenAIServer) -> int:
    return sum(request.path == "/metrics" for request in server.requests)


def told(running: float, waiting: float) -> str:
    return (
        "# TYPE vllm:num_requests_running gauge\n"
        f'vllm:num_requests_running{{engine="0",model_name="fake"}} {running}\n'
        f'vllm:num_requests_waiting{{engine="0",model_name="fake"}} {waiting}\n'
        f'vllm:num_requests_waiting_by_reason{{engine="0",model_name="fake",reason="capacity"}} {waiting}\n'
    )


Closing = Callable[..., OpenAIPolicy]


@pytest.fixture
async def keen(server: OpenAIServer) -> AsyncIterator[Closing]:
    """Makes policies that look at their server all the time, by the real clock."""
    made: list[OpenAIPolicy] = []

    def policy(transport: httpx.AsyncBaseTransport | None = None, **settings: object) -> OpenAIPolicy:
        connection: ServerConnection[PreflightResult] = ServerConnection(
            PolicySettings.model_validate({"base_url": server.url, "concurrency": CALLS, **settings}),
            rng=np.random.default_rng(1),
            look_seconds=0.01,
            transport=transport,
        )
        made.append(OpenAIPolicy(connection, build_prompt=build_prompt))
        return made[-1]

    yield policy
    for each in made:
        await each.close()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not true():  # noqa: ASYNC110 - what is awaited happens in the server's thread, which tells nobody
            await asyncio.sleep(0.005)


async def held(server: OpenAIServer, policy: OpenAIPolicy, number: int, then: Callable[[], Awaitable[None]]) -> None:
    """Do something while so many calls are under way."""
    release = threading.Event()
    server.script(*[fake.Reply(release=release)] * number)
    asked = [asyncio.create_task(answered(policy)) for _ in range(number)]
    try:
        await then()
    finally:
        release.set()
        await asyncio.gather(*asked)


@pytest.mark.parametrize(
    "said",
    [
        None,
        "<html><body>Welcome</body></html>",
        "vllm:num_requests_running 3\n",
        "vllm:num_requests_running 3\nvllm:num_requests_waiting NaN\n",
        "vllm:num_requests_running 3\nvllm:num_requests_waiting -1\n",
        "vllm:num_requests_running 3\nvllm:num_requests_waiting 1e300\n",
        "vllm:num_requests_running 3\nvllm:num_requests_waiting many\n",
        "vllm:num_requests_waiting{" + "}" * 200_000 + "\n",
    ],
)
async def test_a_server_that_does_not_tell_is_asked_again_only_after_a_while(
    server: OpenAIServer, make: Make, clock: Time, said: str | None
) -> None:
    server.metrics = said
    policy = make(concurrency=CALLS)
    await policy.check()
    assert policy.concurrency == CALLS
    for _ in range(3):
        await answered(policy)
    assert looks(server) == 1
    clock.seconds += QUIET_SECONDS
    await answered(policy)
    await until(lambda: looks(server) == 2)


async def test_a_server_that_fails_to_tell_is_no_reason_to_ask_less(server: OpenAIServer, make: Make) -> None:
    policy = make(concurrency=CALLS, base_url="http://127.0.0.1:9/v1")
    await policy.connection.server_load.look()
    assert policy.concurrency == CALLS


async def test_calls_become_more_while_nothing_waits(server: OpenAIServer, keen: Closing) -> None:
    server.metrics = told(running=4, waiting=0)
    policy = keen()
    await policy.check()
    assert policy.concurrency == FIRST_CALLS
    await held(server, policy, CALLS, lambda: until(lambda: policy.concurrency == CALLS))


async def test_calls_become_fewer_while_requests_wait_and_more_again(server: OpenAIServer, keen: Closing) -> None:
    server.metrics = told(running=4, waiting=40)
    policy = keen()

    async def crowded() -> None:
        await until(lambda: policy.concurrency == 1)
        server.metrics = told(running=4, waiting=0)
        await until(lambda: policy.concurrency > 1)

    await held(server, policy, 1, crowded)


async def test_the_queues_of_all_engines_count(server: OpenAIServer, keen: Closing) -> None:
    quiet, busy = told(running=64, waiting=5), told(running=0, waiting=5).replace('engine="0"', 'engine="1"')
    server.metrics = quiet + busy
    assert (await keen().connection.server.load()) == ConcurrencyLoad(running=64.0, waiting=10.0)


async def test_nobody_looks_while_no_call_is_under_way(server: OpenAIServer, keen: Closing) -> None:
    server.metrics = told(running=1, waiting=0)
    policy = keen()
    await answered(policy)
    looking = policy.connection.server_load._looking
    assert looking is not None
    await asyncio.wait_for(looking, PATIENCE_SECONDS)
    seen = looks(server)
    await answered(policy)
    await until(lambda: looks(server) > seen)


async def test_the_queue_is_looked_at_where_calls_go_and_nowhere_else(server: OpenAIServer, keen: Closing) -> None:
    server.metrics = told(running=1, waiting=0)
    reached: list[httpx.URL] = []

    class Recording(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            reached.append(request.url)
            return await super().handle_async_request(request)

    # The guard of policies that anybody may name: a name that is judged, and connections to what was judged alone.
    pinned = PinnedTransport(allow=["policy.test"], resolve=lambda *_: ["127.0.0.1"], connect=Recording())
    policy = keen(pinned, base_url=server.url.replace("127.0.0.1", "policy.test"))
    await policy.check()
    assert "/metrics" in {url.path for url in reached}
    assert {url.host for url in reached} == {"127.0.0.1"}
    hosts = {request.headers["host"].partition(":")[0] for request in server.requests}
    assert hosts == {"policy.test"}


async def test_a_redirect_of_the_metrics_is_not_followed(keen: Closing) -> None:
    asked: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(302, headers={"location": "http://169.254.169.254/latest"})

    policy = keen(httpx.MockTransport(reply), base_url="http://policy.test/v1")
    await policy.connection.server_load.look()
    assert asked == ["http://policy.test/metrics"]
    assert policy.concurrency == CALLS


@pytest.mark.parametrize("said", [0, 3, 64])
async def test_the_runs_own_number_of_calls_stands_for_the_policys(
    server: OpenAIServer, tmp_path: Path, said: int
) -> None:
    problem = make_problem(tmp_path / "problem")
    order = RunOrder(problem=problem, policies=[server.url], flags={"concurrency.policy": said})
    plan = plan_new(order, problem, datetime.now(UTC))
    async with ConfiguredPolicies(PoliciesSettings()).open(plan) as asked:
        (member,) = asked.members
        assert member.policy.concurrency == (said or plan.policies[0].concurrency)


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_requests_are_counted_and_timed(server: OpenAIServer, make: Make) -> None:
    counted, timed = "evolve_policy_requests_total", "evolve_policy_request_duration_seconds_count"
    outcomes = ("answered", "unavailable", "refused")
    before = [value(counted, model="fake", outcome=outcome) for outcome in outcomes]
    seconds = value(timed)
    policy = make()
    server.script(fake.Reply(status=503), fake.Reply())
    await answered(policy)
    server.script(fake.Reply(status=400, body="no"))
    with pytest.raises(PolicyRefused):
        await answered(policy)
    after = [value(counted, model="fake", outcome=outcome) for outcome in outcomes]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1.0, 1.0, 1.0]
    assert value(timed) - seconds == 3.0


async def test_the_present_limits_of_all_policies_are_shown(server: OpenAIServer, make: Make) -> None:
    before = value("evolve_policy_concurrency")
    policies = [make(concurrency=maximum) for maximum in (5, 7)]
    for policy in policies:
        await policy.check()
    assert value("evolve_policy_concurrency") - before == 12
    await policies[0].close()
    assert value("evolve_policy_concurrency") - before == 7


async def test_models_that_nobody_serves_do_not_fill_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_models", set())
    shown = {calls._shown(f"model-{number}") for number in range(1000)}
    assert len(shown) == calls.MAX_MODELS + 1
    assert calls.OTHERS in shown


async def test_what_was_seen_of_the_server_is_told_in_finite_numbers(server: OpenAIServer, keen: Closing) -> None:
    server.metrics = told(3, 12)
    policy = keen()
    before = policy.health()
    assert (before["reachable"], before["running"], before["waiting"]) == (None, None, None)
    await policy.check()
    seen = policy.health()
    assert (seen["reachable"], seen["running"], seen["waiting"], seen["in_flight"]) == (True, 3.0, 12.0, 0)
    assert (seen["breaker"], seen["retry_seconds"], seen["calls"]) == ("closed", 0.0, policy.concurrency)


async def test_a_server_that_is_away_is_told_to_be(server: OpenAIServer, keen: Closing) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there", request=request)

    policy = keen(httpx.MockTransport(away))
    await policy.connection.server_load.look()
    seen = policy.health()
    assert (seen["reachable"], seen["running"], seen["waiting"]) == (False, None, None)

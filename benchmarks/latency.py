"""Candidates/s with a slow policy, against the ideal: `python -m benchmarks.latency`.

A server in a process of its own answers every request after two seconds with a chain of four programs; the ideal is
concurrency x 4 / latency. Evaluations cost nothing, commits are durable. The first and last rounds are left out: there
the pipeline fills and empties. Beside it stands a bare client: as many calls at once that send a prompt of the same
size, read the stream and do nothing else, so that what the server and the transport take can be told from what the
search takes.
"""

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection

import httpx
import numpy as np

from benchmarks.harness import (
    InstantEvaluator,
    Watch,
    arguments,
    new_job,
    open_log,
    play,
    program_text,
    report,
    scratch,
    toy_problem,
)
from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from service.policy.opening import serve as serve_policy
from service.policy_settings.settings import PolicySettings
from service.runner.status import RunStatus
from tests.fakes.openai_server import chain, openai_server

ANSWERS = 4


def serve(channel: Connection, latency_seconds: float) -> None:
    def respond(body: dict[str, object]) -> list[str]:
        seed = int(str(body["seed"]))
        return [chain(*(program_text(seed * ANSWERS + index) for index in range(ANSWERS)))]

    with openai_server(respond, latency_seconds=latency_seconds, characters=4096, context_tokens=32_768) as server:  # type: ignore[arg-type]
        channel.send(server.url)
        channel.recv()


async def bare_rate(url: str, calls: int, rounds: int = 6) -> float:
    """Candidates/s of a client without a search."""
    prompt = "\n".join(program_text(number) for number in range(5))
    body = {"model": "fake", "messages": [{"role": "user", "content": prompt}], "n": 1, "stream": True}

    async def call(client: httpx.AsyncClient, number: int) -> None:
        for turn in range(rounds):
            seed = {"seed": number * rounds + turn}
            async with client.stream("POST", f"{url}/chat/completions", json=body | seed) as response:
                async for _ in response.aiter_lines():
                    pass

    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=calls)) as client:
        began = time.monotonic()
        await asyncio.gather(*(call(client, number) for number in range(calls)))
        return calls * ANSWERS * rounds / (time.monotonic() - began)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    calls, total = options.concurrency, options.concurrency * ANSWERS * options.rounds
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, options.latency))
    server.start()
    times: list[tuple[float, int]] = []

    def hear(status: RunStatus) -> None:
        times.append((time.monotonic(), status.counters.evaluations))

    try:
        url = ours.recv()
        bare = asyncio.run(bare_rate(url, calls))
        config = RunConfig(budget=BudgetConfig(evaluations=total), concurrency=ConcurrencyConfig(policy=calls))
        problem = toy_problem()
        with scratch() as folder:
            settings = PolicySettings(
                kind="openai", base_url=url, model="fake", answers=ANSWERS, samples=1, concurrency=calls
            )
            policy = serve_policy(settings, problem, RunConfig(), {})
            play(new_job(open_log(folder), problem, config, policy, InstantEvaluator()), Watch(hear))
    finally:
        ours.send("stop")
        server.join()
    lower, upper = total * 2 // options.rounds, total * (options.rounds - 2) // options.rounds
    steady = [(moment, done) for moment, done in times if lower <= done <= upper]
    # A line through all of them: completions come in waves, and two points would measure where in a wave they lie.
    rate = float(np.polyfit([moment for moment, _ in steady], [float(done) for _, done in steady], 1)[0])
    ideal = calls * ANSWERS / options.latency
    figures = {
        "latency_seconds": options.latency,
        "concurrent_calls": calls,
        "candidates_per_second": round(rate, 2),
        "ideal": ideal,
        "share_of_ideal": round(rate / ideal, 4),
        "bare_client_share_of_ideal": round(bare / ideal, 4),
        "ratio_to_bare_client": round(rate / bare, 4),
    }
    report("latency", figures, options.out)


if __name__ == "__main__":
    main()

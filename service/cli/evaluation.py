"""The command `evolve train evaluate`: measures a policy, or a model of this machine, on the questions of a domain."""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from evolve.errors import PolicyError
from service.cli.formatting import duration
from service.cli.task import look_here, published_questions
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.jsonlines import as_line
from service.policy_settings.kind_traits import WITHOUT_MODEL, traits_of
from service.policy_settings.roles import read_policies

if TYPE_CHECKING:
    from concurrent.futures import Future

    from evolve.proposal import CompletedReply
    from service.policy.completion_client import CompletionClient
    from service.policy_settings.settings import PolicySettings
    from training.harness import CompletionSource, EvaluationProgress, EvaluationSettings, SampledCompletions

PROGRESS_SECONDS = 30.0  # between two lines of progress
CONCURRENCY = 8  # requests at once, unless said otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """The words of `evolve train evaluate`; `numbers` are settings of `training.harness.EvaluationSettings`.

    Attributes:
        policy: a server, a policy file or a bundled policy. None: the model is run in this process.
        model: its name at the policy, or its folder.
        adapter: folder of an adapter for a model in this process.
        data: file of a published data set, or of mazes. None: the domain brings its test questions.
        concurrency: questions at once. None: 8 of a policy, 1 in this process.
    """

    domain: str
    policy: str | None
    model: str | None
    adapter: Path | None
    params: tuple[str, ...]
    output: Path
    seeds: int
    data: Path | None
    limit: int | None
    concurrency: int | None
    numbers: Mapping[str, float | None]


def evaluate(terminal: Terminal, options: EvaluateOptions) -> None:
    """Measure a model on the test questions of a domain.

    Raises:
        TrainingError: the model gives no completions, or the folder holds another evaluation.
        ExtensionError: the domain cannot be loaded.
        PolicyUnavailable, PolicyDenied: the policy cannot be reached, or does not offer the model.
        UsageError: neither a policy nor a model is named, or words do not go together.
    """
    from training.harness import REPORT, evaluate_model
    from training.task_data import questions_of

    look_here()
    if options.data is None:
        questions = questions_of(options.domain, "test", options.limit)
    elif options.domain == "maze":
        from service.cli.train import read_mazes

        questions = list(read_mazes(options.data))[: options.limit]
    else:
        questions = published_questions(options.domain, options.data, options.limit)

    with _source(options) as (settings, source):
        progress = ProgressLines(terminal)
        figures = evaluate_model(settings, questions, source, options.output, progress.report)
    if terminal.as_json:
        print(as_line({"schema": 1, "kind": "training.evaluation", "figures": figures}))
        return
    terminal.show((options.output / REPORT).read_text(encoding="utf-8"))


@dataclass(slots=True, kw_only=False)
class ProgressLines:
    """Shows how far an evaluation is: at the first answer, twice a minute, and at the end."""

    terminal: Terminal
    clock: Callable[[], float] = monotonic
    _began: float = field(init=False)
    _shown: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def report(self, found: "EvaluationProgress") -> None:
        """Show a line if it is time for one."""
        now = self.clock()
        if self.terminal.as_json or (now - self._shown < PROGRESS_SECONDS and found.answered < found.questions):
            return
        self._shown = now
        cost = "" if found.cost is None else f", {found.cost}"
        seconds = (now - self._began) / (found.answered - found.known) * (found.questions - found.answered)
        left = f", about {duration(seconds)} left" if seconds else ""
        self.terminal.note(f"{found.answered}/{found.questions} questions, {found.tokens:,} tokens{cost}{left}")


@contextmanager
def _source(options: EvaluateOptions) -> "Iterator[tuple[EvaluationSettings, CompletionSource]]":
    if options.policy is not None:
        if options.adapter is not None:
            raise UsageError("--adapter is for a model in this process: leave --policy out, or let its server load it")
        policy = _policy(options)
        settings = _settings(options, policy.model or policy.name)
        with _opened(policy, settings, options.concurrency or CONCURRENCY) as source:
            yield settings, source
        return
    if options.params:
        raise UsageError("--param is for a policy: name it with --policy")
    if options.model is None and options.adapter is None:
        raise UsageError("name what to measure: --policy POLICY, --model FOLDER or --adapter FOLDER")
    from training.local_completions import LocalModel

    shown = " with ".join(str(part) for part in (options.model, options.adapter) if part is not None)
    settings = _settings(options, shown)
    yield (
        settings,
        LocalModel(settings, model=options.model, adapter=options.adapter, batch=options.concurrency or 1),
    )


def _settings(options: EvaluateOptions, model: str) -> "EvaluationSettings":
    from training.harness import EvaluationSettings

    numbers: dict[str, Any] = {name: value for name, value in options.numbers.items() if value is not None}
    return EvaluationSettings(domain=options.domain, model=model, seeds=tuple(range(options.seeds)), **numbers)


def _policy(options: EvaluateOptions) -> "PolicySettings":
    assert options.policy is not None
    found = read_policies([options.policy], model=options.model, params=options.params)
    if len(found) != 1:
        raise UsageError(f"{options.policy} holds {len(found)} policies: name a file with the one to measure")
    if found[0].kind in WITHOUT_MODEL:
        spoken = traits_of(found[0].kind).spoken
        raise UsageError(f"{spoken} asks no model: name a server, a policy file or bundled:MODEL")
    return found[0]


@contextmanager
def _opened(policy: "PolicySettings", settings: "EvaluationSettings", concurrency: int) -> "Iterator[PolicySource]":
    from service.policy.completion_client import open_completions

    asked = policy.model_copy(
        update={
            "samples": settings.chains, "temperature": settings.temperature, "top_p": settings.top_p,
            "max_tokens": settings.max_tokens, "concurrency": concurrency,
        }
    )  # fmt: skip
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opening = open_completions(asked)
    try:
        client = asyncio.run_coroutine_threadsafe(opening.__aenter__(), loop).result()
        try:
            yield PolicySource(client, loop, concurrency)
        finally:
            asyncio.run_coroutine_threadsafe(opening.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class PolicySource:
    """Completions of a policy, see `training.harness.CompletionSource`.

    Args:
        client: of the policy, on the loop.
        loop: that runs in another thread.
        concurrency: questions at once.
    """

    batch = 1

    def __init__(self, client: "CompletionClient", loop: asyncio.AbstractEventLoop, concurrency: int) -> None:
        self.concurrency = concurrency
        self._client = client
        self._loop = loop

    def complete(self, prompts: Sequence[str], count: int, seed: int) -> "list[SampledCompletions]":
        """So many completions of each prompt. No two requests have the same seed: the same would be written again.

        Raises:
            TrainingError: there are none.
        """
        from training.errors import TrainingError

        calls: list[Future[CompletedReply]] = [
            asyncio.run_coroutine_threadsafe(self._client.complete(prompt, count, seed * count), self._loop)
            for prompt in prompts
        ]
        try:
            return [_completions(call.result()) for call in calls]
        except PolicyError as error:
            raise TrainingError(f"{str(error).rstrip('.')}. Mend that, then run this again: it continues.") from error


def _completions(reply: "CompletedReply") -> "SampledCompletions":
    from service.policy.chains import BROKEN_OFF
    from training.harness import SampledCompletions

    reasons = reply.finish_reasons or ("",) * len(reply.completions)
    return SampledCompletions(
        texts=reply.completions,
        cut=tuple(reason in BROKEN_OFF for reason in reasons),
        prompt_tokens=reply.usage.input,
        completion_tokens=reply.usage.output,
        cost=reply.cost,
    )

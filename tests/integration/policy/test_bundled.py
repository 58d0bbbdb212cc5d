"""The policy that is run in this process: what it answers, hands on early, leaves off and refuses."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.errors import PolicyRefused
from evolve.proposal import Answer, CompletedReply, Message, Prompt, Proposal
from service.errors import UsageError
from service.policy.bundled import policy as module
from service.policy.bundled.policy import BundledPolicy
from service.policy.bundled.sampling import DecodingStep, stream
from service.policy_settings.settings import PolicySettings
from tests.fakes.tiny_llama import NUMBERS, TEMPLATE, write_model, write_parrot
from tests.integration.policy.conftest import build_prompt, proposal

TWO = "<answer_1> 3 </answer_1> <answer_2> 4 </answer_2>"


def made(folder: Path, prompt: Any = build_prompt, **settings: object) -> BundledPolicy:
    described = {"kind": "bundled", "model": str(folder), **settings}
    return BundledPolicy(PolicySettings.model_validate(described), build_prompt=prompt)


async def replies(policy: BundledPolicy, asked: Proposal) -> tuple[list[Answer], CompletedReply]:
    found = [reply async for reply in policy.propose(asked)]
    assert isinstance(found[-1], CompletedReply)
    answers = [reply for reply in found[:-1] if isinstance(reply, Answer)]
    assert len(answers) == len(found) - 1
    return answers, found[-1]


async def test_a_chain_is_taken_apart_and_accounted_for(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO), answers=2, samples=3)
    answers, completed = await replies(policy, proposal(answers=2, samples=3))
    assert sorted((answer.chain, answer.index, answer.text.strip()) for answer in answers) == [
        (chain, index, text) for chain in range(3) for index, text in enumerate(["3", "4"])
    ]
    assert completed.completions == (TWO,) * 3
    assert completed.finish_reasons == ("stop",) * 3
    assert completed.prompt is not None
    # The parent's three words and those of the sentence before it, and what the template puts around them.
    words = completed.prompt.messages[0].content.split()
    assert completed.usage.input == completed.prompt.tokens == len(words) + 2
    assert completed.usage.output == 3 * (len(TWO.split()) + 1)
    assert {answer.shown for answer in answers} == {("cnd_parent",)}


async def test_equal_proposals_get_equal_answers_and_other_seeds_get_others(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, f"<answer_1> {'|'.join(NUMBERS)} </answer_1>"), answers=1, samples=8)

    async def texts(seed: int) -> tuple[str, ...]:
        return (await replies(policy, proposal(answers=1, samples=8, seed=seed)))[1].completions

    assert await texts(1) == await texts(1) == await asyncio.create_task(texts(1))
    assert await texts(1) != await texts(2)
    assert len(set(await texts(1))) > 1


async def test_no_more_chains_are_written_than_may_come_back(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO), answers=2, samples=8)
    answers, completed = await replies(policy, proposal(answers=2, samples=8, limit=3))
    assert (len(answers), len(completed.completions)) == (3, 2)


async def test_without_temperature_there_is_one_chain(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO), temperature=0.0)
    assert policy.samples == 1
    assert len((await replies(policy, proposal(answers=2, samples=4)))[1].completions) == 1


async def test_a_chain_that_is_cut_keeps_the_answers_that_are_whole(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO), answers=2, max_tokens=5)
    answers, completed = await replies(policy, proposal(answers=2, samples=1))
    assert [answer.text.strip() for answer in answers] == ["3"]
    assert completed.finish_reasons == ("length",)
    assert completed.usage.output == 5
    assert completed.dropped


class Held:
    """Steps that stop before a step until they are let go, and tell when they are left off."""

    def __init__(self, before: int) -> None:
        self.go, self.left = threading.Event(), threading.Event()
        self.before = before
        self.steps = 0

    def __call__(self, *words: Any, **named: Any) -> Iterator[DecodingStep]:
        try:
            for step in stream(*words, **named):
                if self.steps == self.before:
                    assert self.go.wait(20)
                self.steps += 1
                yield step
        finally:
            self.left.set()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Held]]:
    made_here: list[Held] = []

    def hold(before: int) -> Held:
        made_here.append(Held(before))
        monkeypatch.setattr(module, "stream", made_here[-1])
        return made_here[-1]

    yield hold
    for each in made_here:
        each.go.set()


async def test_an_answer_is_handed_on_while_the_next_is_written(tmp_path: Path, held: Callable[[int], Held]) -> None:
    policy, work = made(write_parrot(tmp_path, TWO), answers=2), held(3)
    async with aclosing(policy.propose(proposal(answers=2, samples=1))) as found:
        first = await anext(found)
        assert isinstance(first, Answer)
        assert (first.text.strip(), work.steps) == ("3", 3)
        work.go.set()
        assert isinstance(second := await anext(found), Answer)
        assert second.text.strip() == "4"


async def test_leaving_off_stops_the_work_at_its_next_step(tmp_path: Path, held: Callable[[int], Held]) -> None:
    policy, work = made(write_parrot(tmp_path, TWO), answers=2), held(3)
    found = policy.propose(proposal(answers=2, samples=1))
    await anext(found)
    closing = asyncio.create_task(found.aclose())
    await asyncio.sleep(0)
    work.go.set()
    await closing
    assert work.left.is_set()
    assert work.steps == 4


async def test_a_cancelled_call_stops_its_work(tmp_path: Path, held: Callable[[int], Held]) -> None:
    policy, work = made(write_parrot(tmp_path, TWO), answers=2), held(3)
    handed = asyncio.Event()

    async def ask() -> None:
        async with aclosing(policy.propose(proposal(answers=2, samples=1))) as found:
            async for _ in found:
                handed.set()

    call = asyncio.create_task(ask())
    await handed.wait()
    call.cancel()
    await asyncio.sleep(0)  # it hears of that before the work goes on
    work.go.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert work.left.is_set()
    assert work.steps == 4


def long_prompt(proposal: Proposal, *, count: Callable[[str], int], context_tokens: int) -> Prompt:
    """Ten words for the parent, thirty for each inspiration, forty for feedback and five for a second parent."""
    assert count("a b c") == 0 < context_tokens
    told = 40 if proposal.parent.evaluation.feedback else 0
    text = "x " * (10 + 30 * len(proposal.inspirations) + 20 * len(proposal.failures) + told)
    text += "x " * (5 if proposal.second_parent is not None else 0)
    shown = ("cnd_parent", *(each.candidate_id for each in proposal.inspirations))
    return Prompt(messages=(Message(role="user", parts=(text,)),), shown=shown)


@pytest.mark.parametrize(
    ("context", "words", "inspirations"), [(160, 130, 2), (130, 100, 1), (90, 70, 0), (70, 50, 0), (40, 10, 0)]
)
async def test_what_does_not_fit_is_left_out(tmp_path: Path, context: int, words: int, inspirations: int) -> None:
    asked = proposal(answers=1, samples=1)
    parent = replace(asked.parent, evaluation=replace(asked.parent.evaluation, feedback="much"))
    others = tuple(replace(asked.parent, candidate_id=f"cnd_{number}") for number in range(2))
    asked = replace(asked, parent=parent, inspirations=others, failures=(asked.parent,))
    policy = made(write_parrot(tmp_path, TWO, max_position_embeddings=context), long_prompt)
    prompt = (await replies(policy, asked))[1].prompt
    assert prompt is not None
    assert len(prompt.messages[0].content.split()) == words
    assert len(prompt.shown) == 1 + inspirations


@pytest.mark.parametrize(("context", "words"), [(80, 55), (50, 15), (16, 10)])
async def test_a_second_parent_is_left_out_last(tmp_path: Path, context: int, words: int) -> None:
    asked = proposal(answers=1, samples=1)
    parent = replace(asked.parent, evaluation=replace(asked.parent.evaluation, feedback="much"))
    asked = replace(
        asked, operator="crossover", parent=parent, second_parent=replace(asked.parent, candidate_id="cnd_mate")
    )
    policy = made(write_parrot(tmp_path, TWO, max_position_embeddings=context), long_prompt)
    prompt = (await replies(policy, asked))[1].prompt
    assert prompt is not None
    assert len(prompt.messages[0].content.split()) == words


async def test_a_parent_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO, max_position_embeddings=12), long_prompt)
    with pytest.raises(PolicyRefused, match=r"cnd_parent does not fit .* take 13 tokens, and there is room for 12"):
        await replies(policy, proposal(answers=1, samples=1))


async def test_only_what_the_template_keeps_counts(tmp_path: Path) -> None:
    template = "{{ messages[-1]['content'].split('\\n')[0] }} <answers>"
    folder = write_parrot(tmp_path, TWO, template=template, max_position_embeddings=16)

    def prompt(proposal: Proposal, *, count: Callable[[str], int], context_tokens: int) -> Prompt:
        return Prompt(messages=(Message(role="user", parts=("x = 3\n", "word " * 5000)),))

    assert len((await replies(made(folder, prompt), proposal(answers=2, samples=1)))[0]) == 2


async def test_a_template_that_refuses_refuses_the_proposal(tmp_path: Path) -> None:
    policy = made(write_model(tmp_path, template="{{ raise_exception('only mazes') }}"))
    with pytest.raises(PolicyRefused, match="does not accept the prompt: its chat template fails: only mazes"):
        await replies(policy, proposal())


async def test_the_text_of_a_special_word_in_a_program_is_no_such_word(tmp_path: Path) -> None:
    policy = made(write_parrot(tmp_path, TWO), long_prompt)
    model = await policy.check()

    def prompt(proposal: Proposal, *, count: Callable[[str], int], context_tokens: int) -> Prompt:
        return Prompt(messages=(Message(role="user", parts=("x <eos> <bos>",)),))

    asked = made(write_parrot(tmp_path, TWO), prompt)._asked(model, proposal())
    unknown = model.vocabulary.unknown
    assert asked.ids[1:-1] == [model.vocabulary.numbers["x"], unknown, unknown]
    assert TEMPLATE.startswith("{{ bos_token }}")


@pytest.mark.parametrize("model", ["absent-model", "./absent"])
async def test_a_model_that_is_gone_is_said_so(model: str) -> None:
    policy = BundledPolicy(PolicySettings(kind="bundled", model=model), build_prompt=build_prompt)
    with pytest.raises(UsageError, match="absent"):
        await policy.check()

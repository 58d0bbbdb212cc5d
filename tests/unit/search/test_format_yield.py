"""What one proposal in one form brings, counted on policies that write what a test says."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from evolve.proposal import Answer, CompletedReply, Proposal, Reply
from evolve.reply_form import ReplyForm
from evolve.search.format_yield import DUPLICATE, FormatYield, measure_format_yield
from tests.fakes.world import toy_problem
from tests.integration.runner.scene import ToyEvaluator, ToyPolicy

FORM = ReplyForm(format="tags:answer", edits="rewrite", answers=4, samples=1)


@dataclass
class Writer(ToyPolicy):
    """Writes one chain of texts, and may never end it."""

    texts: Sequence[str] = ()
    ends: bool = True

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        for index, text in enumerate(self.texts):
            yield Answer(chain=0, index=index, text=text)
        if not self.ends:
            await asyncio.Event().wait()
        yield CompletedReply(completions=("\n".join(self.texts),))


async def measured(policy: Writer, limit_seconds: float | None = None) -> FormatYield:
    problem = toy_problem()
    return await measure_format_yield(problem, policy, FORM, ToyEvaluator(problem), limit_seconds=limit_seconds)


async def test_answers_are_counted_by_what_became_of_them() -> None:
    found = await measured(Writer(texts=["x = 0.25\n", "x = 0.25\n", "x = (\n", "x = 0.75\n"]))
    assert (found.asked, found.parsed, found.new, found.valid) == (4, 3, 2, 2)
    assert found.losses[DUPLICATE] == 1
    assert found.losses.total() == 2
    assert found.completed is not None


async def test_a_completion_that_does_not_end_is_cut_off_and_what_it_wrote_counts() -> None:
    found = await measured(Writer(texts=["x = 0.25\n", "x = 0.75\n"], ends=False), limit_seconds=0.2)
    assert (found.new, found.valid, found.completed) == (2, 2, None)
    assert found.losses == {"the completion had not ended after 0.2 seconds": 1}

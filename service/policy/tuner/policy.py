"""The tuner as a policy: a proposal in, the same program with other numbers out."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator

from evolve.errors import PolicyRefused
from evolve.money import FREE
from evolve.problem import Problem
from evolve.prompt.text import fenced
from evolve.proposal import Answer, CompletedReply, Proposal, RejectedText, Reply, TuningRecord
from service.policy.syntax.program_sources import program_sources
from service.policy.tuner.numbers import TunedProgram
from service.policy.tuner.optimizer import NumberOptimizer

_SESSIONS = 32
NOTHING = "the tuner found no number in program {program} where changes are allowed"
_CONVERGED = "found no further numbers: the steps of this session have become too small"


class TunerPolicy:
    """Answers a proposal with other numbers in its program. Equal proposals get equal answers.

    An optimizer is kept between the proposals of a session. One that is not known any more is made again by the record
    of the proposal.
    """

    tunes = True

    def __init__(self, problem: Problem, name: str = "tuner", answers: int = 8) -> None:
        self.name = name
        self.answers = answers
        self.samples = 1
        self.concurrency = 1
        self._language, self._repository = problem.language, problem.repository
        self._optimizers: OrderedDict[int, NumberOptimizer] = OrderedDict()

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Yield each answer as it is made, and finally a description of each.

        Raises:
            PolicyRefused: the program has no number that may change, or its session has converged.
        """
        fresh = TuningRecord(session=proposal.number, seed=proposal.seed, base=proposal.parent)
        record = proposal.tuning or fresh
        optimizer = self._optimizer(record)
        if not optimizer.space.dimensions:
            raise PolicyRefused(f"{NOTHING.format(program=record.base.program.id)}.")
        optimizer.learn(record.generations)
        programs = optimizer.ask(min(proposal.limit, proposal.samples * proposal.answers))
        if not programs:
            raise PolicyRefused(f"The tuner {_CONVERGED}.")
        accounts: list[list[str]] = [[] for _ in range(proposal.samples)]
        for number, program in enumerate(programs):
            chain, index = divmod(number, proposal.answers)
            accounts[chain].append(f"{index + 1}. {program.account}")
            alone = proposal.parent.program.single and self._repository is None
            yield Answer(chain=chain, index=index, text=_written(program, alone=alone))
            await asyncio.sleep(0)  # others get their turn between two answers
        missing = len(programs) < min(proposal.limit, proposal.samples * proposal.answers)
        yield CompletedReply(
            completions=tuple("\n".join(account) for account in accounts),
            finish_reasons=("stop",) * proposal.samples,
            dropped=(RejectedText(chain=0, reason=_CONVERGED),) if missing else (),
            cost=FREE,
        )

    def _optimizer(self, record: TuningRecord) -> NumberOptimizer:
        known = self._optimizers.pop(record.session, None)
        # Where the last generation was asked for before, and is asked for again, it is made again.
        if known is None or known.generations + known.asked > len(record.generations):
            sources = tuple(program_sources(record.base.program, self._language, self._repository))
            known = NumberOptimizer(sources, record, self.answers)
        self._optimizers[record.session] = known
        while len(self._optimizers) > _SESSIONS:
            self._optimizers.popitem(last=False)
        return known


def _written(program: TunedProgram, *, alone: bool) -> str:
    # In a fence, for the program may hold what reads as the mark-up of an answer.
    if alone:
        (text,) = program.files.values()
        return fenced(text)
    return "\n".join(f"FILE: {path}\n{fenced(text)}" for path, text in program.files.items())

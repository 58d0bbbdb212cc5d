"""The syntax mutator as a policy: a proposal in, a set of different programs out, with an account of each."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.credit.operators import CROSSOVER, REPAIR, SIMPLIFY
from evolve.errors import PolicyRefused
from evolve.money import FREE
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt.text import fenced
from evolve.proposal import Answer, CompletedReply, Proposal, RejectedText, Reply
from service.policy.syntax.crossing import cross
from service.policy.syntax.draw import pick
from service.policy.syntax.mutation import RARE, Mutation, mutate
from service.policy.syntax.program_sources import program_sources
from service.policy.syntax.repairing import repair
from service.policy.syntax.simplifying import simplify
from service.policy.syntax.source import SourceText

_TRIES, _RARE_TRIES = 24, 4
_OPERATORS: Mapping[str, Mutation] = {CROSSOVER: cross, REPAIR: repair, SIMPLIFY: simplify}
_CACHED = 256
# What is derived from a text takes up to some hundred times its memory.
_CACHED_CHARACTERS = 2_000_000
NOTHING = (
    "it needs a number or Python syntax where changes are allowed. For text, use a model: --policy URL --model NAME,"
    " or a bundled model, --policy bundled:NAME. Or let more of the program change: move its"
    " EVOLVE-BLOCK markers apart"
)
_NOTHING_NEW = "found no further change that parses and differs from the parent and the other answers"


@dataclass(frozen=True, slots=True)
class _Child:
    path: str
    text: str
    account: str


@dataclass(frozen=True, slots=True)
class _Maker:
    """An attempt: a change of a file, with the programs that it may copy from."""

    make: Mutation
    others: Sequence[Sequence[SourceText]]


class SyntaxPolicy:
    """Answers a proposal with changes to the parent's syntax, by its operator. Equal proposals get equal answers.

    If the operator finds nothing to do, the parent is mutated.
    """

    def __init__(self, problem: Problem, name: str = "syntax", answers: int = 8) -> None:
        self.name = name
        self.answers = answers
        self.samples = 1
        self.concurrency = 1
        self._language, self._repository = problem.language, problem.repository
        self._cache: OrderedDict[str, tuple[SourceText, ...]] = OrderedDict()
        self._characters = 0

    def changeable(self, programs: Sequence[Program]) -> bool:
        """Whether any of the programs has something that can change; asked before a budget is spent on it."""
        makers = [_Maker(mutate, [])] * (4 * _TRIES) + [_Maker(mutation, []) for mutation in RARE] * _RARE_TRIES
        rng = np.random.default_rng(0)
        return any(self._child(self._sources(program), makers, set(), rng) is not None for program in programs)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Yield each answer as it is made, and finally a description of each.

        Raises:
            PolicyRefused: nothing in the parent can be changed.
        """
        rng = np.random.default_rng(proposal.seed)
        parent = self._sources(proposal.parent.program)
        others = [self._sources(individual.program) for individual in proposal.inspirations]
        mates = [self._sources(proposal.second_parent.program)] if proposal.second_parent is not None else []
        makers = [_Maker(mutate, [*mates, *others])] * _TRIES
        if proposal.operator in _OPERATORS:
            kin = mates if proposal.operator == CROSSOVER else others
            makers[: _TRIES - _TRIES // 3] = [_Maker(_OPERATORS[proposal.operator], kin)] * (_TRIES - _TRIES // 3)
        makers += [_Maker(mutation, []) for mutation in RARE for _ in range(_RARE_TRIES)]
        seen: set[tuple[str, str]] = set()
        accounts: list[list[str]] = [[] for _ in range(proposal.samples)]
        dropped: list[RejectedText] = []
        for number in range(min(proposal.limit, proposal.samples * proposal.answers)):
            chain, index = divmod(number, proposal.answers)
            child = self._child(parent, makers, seen, rng)
            if child is None:
                dropped.append(RejectedText(chain=chain, reason=_NOTHING_NEW))
                break
            accounts[chain].append(f"{index + 1}. {child.account}")
            yield Answer(chain=chain, index=index, text=_written(child, alone=self._alone(parent)))
            await asyncio.sleep(0)  # others get their turn between two answers
        if not seen:
            raise PolicyRefused(
                f"The syntax mutator found nothing to change in program {proposal.parent.program.id}: {NOTHING}."
            )
        yield CompletedReply(
            completions=tuple("\n".join(account) for account in accounts),
            finish_reasons=("stop",) * proposal.samples,
            dropped=tuple(dropped),
            cost=FREE,
        )

    def _child(
        self,
        parent: Sequence[SourceText],
        makers: Sequence[_Maker],
        seen: set[tuple[str, str]],
        rng: np.random.Generator,
    ) -> _Child | None:
        sources = [source for source in parent if source.spans]
        for maker in makers if sources else ():
            source = pick(sources, rng)
            alone = self._alone(parent)
            same = [
                other
                for program in maker.others
                for other in program
                if other.path == source.path or (alone and len(program) == 1)
            ]
            draft = maker.make(source, same, rng)
            text = source.apply(draft) if draft is not None else source.text
            key = (source.path, _plain(text))
            if draft is None or key[1] == _plain(source.text) or key in seen or not source.sound(draft, text):
                continue
            seen.add(key)
            return _Child(source.path, text, draft.account)
        return None

    def _sources(self, program: Program) -> tuple[SourceText, ...]:
        known = self._cache.get(program.id)
        if known is None:
            known = self._cache[program.id] = tuple(program_sources(program, self._language, self._repository))
            self._characters += sum(len(source.text) for source in known)
            while len(self._cache) > 1 and (len(self._cache) > _CACHED or self._characters > _CACHED_CHARACTERS):
                _, forgotten = self._cache.popitem(last=False)
                self._characters -= sum(len(source.text) for source in forgotten)
        self._cache.move_to_end(program.id)
        return known

    def _alone(self, parent: Sequence[SourceText]) -> bool:
        return len(parent) == 1 and self._repository is None


def _plain(text: str) -> str:
    """A text but for its line endings and the blank lines at its end, which make no other program."""
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip()


def _written(child: _Child, *, alone: bool) -> str:
    # In a fence, for the program may hold what reads as the mark-up of an answer.
    return fenced(child.text) if alone else f"FILE: {child.path}\n{fenced(child.text)}"

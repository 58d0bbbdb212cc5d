"""Searches with a policy on many mazes at once: the product's own search and prompts, scored in this process.

Each maze has a search of its own. They move in step, a proposal each at a time, so that the model writes for all of
them together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.answers.chain import ChainParser, parse_format
from evolve.domains.maze import OBJECTIVES, Maze, MazeDomain, maze_of, optimum
from evolve.evaluation import Evaluation, Outcome, read_result
from evolve.multiobjective.scalarization import Floats
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import Answer, Candidate, CompletedReply, Proposal, Usage
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from service.policy.bundled.model import Model
from service.policy.bundled.sampling import SampledChain, generate
from training.measures import EQUAL
from training.study.contenders import Contender, open_model
from training.study.plan import HARD, PROPOSED, SearchSettings
from training.study.raw import MeasurementKey, Store

FORMAT = "tags:route"
_DOMAIN = MazeDomain()
_SEED = 2605_22817
_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The results of searches, evaluation by evaluation, the seed first.

    A search whose policy writes nothing new ends early. NaN follows its end.

    Attributes:
        best: (mazes, evaluations), best mean of the objectives so far.
        answers: (mazes, evaluations), answers written so far, including repeated and malformed answers.
        tokens: (mazes, evaluations), written so far.
        scores: (mazes, evaluations, 4), the objectives of each evaluated walk, zeros for an invalid walk.
        optimum: (mazes,), the optimum.
    """

    best: Floats
    answers: Floats
    tokens: Floats
    scores: Floats
    optimum: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """A policy searches on hard mazes of a split, a run on each.

    Attributes:
        first: number of the first maze.
    """

    contender: Contender
    strategy: str
    settings: SearchSettings
    split: str
    mazes: int
    evaluations: int
    temperature: float
    seed: int = 0
    first: int = 0

    @property
    def key(self) -> MeasurementKey:
        """The conditions of the task, without settings if the strategy uses none."""
        islands = self.settings.title if self.strategy == "islands" else ""
        values = {
            "what": "search",
            "version": _VERSION,
            "model": self.contender.digest,
            "m": self.contender.m,
            "strategy": self.strategy,
            "settings": islands,
            "split": self.split,
            "mazes": self.mazes,
            "evaluations": self.evaluations,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        values |= {"first": self.first} if self.first else {}
        title = f"search.{self.contender.name}.{self.strategy}.{self.split}.t{self.temperature:g}.e{self.evaluations}"
        return MeasurementKey(title=title, values=values)

    @property
    def size(self) -> int:
        """Evaluations."""
        return self.mazes * self.evaluations

    def run(self, problems: Callable[[str, str, int], Problem]) -> Mapping[str, NDArray[Any]]:
        """Search."""
        model = open_model(self.contender)
        numbers = range(self.first, self.first + self.mazes)
        asked = [maze_of(HARD, self.split, number) for number in numbers]
        seats = [
            _Seat(maze, problems(HARD, self.split, number), self, number)
            for number, maze in zip(numbers, asked, strict=True)
        ]
        longest = self.contender.m * (max(maze.limit for maze in asked) + 2) + 1
        while proposals := [(seat, proposal) for seat in seats for proposal in seat.ask()]:
            # A search that has nearly used up its answers asks for fewer chains than the others.
            proposals.sort(key=lambda pair: pair[1].samples)
            for samples, group in groupby(proposals, key=lambda pair: pair[1].samples):
                some = list(group)
                written = generate(
                    model,
                    [prompt_ids(model, seat.problem, proposal) for seat, proposal in some],
                    samples=samples,
                    max_tokens=longest,
                    temperature=self.temperature,
                    seeds=[proposal.seed for _, proposal in some],
                )
                for (seat, proposal), chains in zip(some, written, strict=True):
                    seat.answer(proposal, chains)
        paths = np.full((3, self.mazes, self.evaluations), np.nan)
        for number, seat in enumerate(seats):
            path = np.array(seat.path[: self.evaluations])
            paths[:, number, : len(path)] = path.T
        scores = np.full((self.mazes, self.evaluations, len(OBJECTIVES)), np.nan)
        for number, seat in enumerate(seats):
            evaluated = seat.scores[: self.evaluations]
            scores[number, : len(evaluated)] = evaluated
        best, answers, tokens = paths
        return {
            "best": best,
            "answers": answers,
            "tokens": tokens,
            "scores": scores,
            "optimum": np.array([float(optimum(maze, EQUAL)) for maze in asked]),
        }

    def read(self, store: Store) -> Paths:
        """The result.

        Raises:
            StudyError: the file is cut off or damaged.
        """
        each = (self.mazes, self.evaluations)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("best", "answers", "tokens"), each)
        shapes |= {"scores": (*each, len(OBJECTIVES)), "optimum": (self.mazes,)}
        return Paths(**store.read(self.key, shapes))


class _Seat:
    """A search on a maze.

    Attributes:
        path: for each evaluation the best so far, and the answers and tokens written so far.
        scores: of each evaluation.
    """

    def __init__(self, maze: Maze, problem: Problem, task: SearchTask, number: int) -> None:
        self.problem = problem
        self.path: list[tuple[float, int, int]] = []
        self.scores: list[list[float]] = []
        self._maze, self._best, self._wanted = maze, 0.0, task.evaluations
        self._answers = self._tokens = 0
        seed = int(np.random.SeedSequence([_SEED, task.seed, number]).generate_state(1)[0])
        m = task.contender.m
        self._search = Search(
            f"run_{number}",
            problem,
            # Near its end a search asks for shorter chains: it is left before, so that each budget is a prefix.
            task.settings.configuration(task.strategy, task.evaluations + PROPOSED, seed),
            PolicyRequest(policy=task.contender.name, answers=m, samples=PROPOSED // m),
        )
        self._score(self._search.start().candidates)

    def ask(self) -> Sequence[Proposal]:
        return self._search.ask().proposals if len(self.path) < self._wanted else ()

    def answer(self, proposal: Proposal, chains: Sequence[SampledChain]) -> None:
        """Take the policy's answers in order, and score each at once."""
        for number, chain in enumerate(chains):
            self._tokens += len(chain.ids)
            for answer in _answers_of(chain, number, proposal.answers):
                if number * proposal.answers + answer.index < proposal.limit:
                    self._answers += 1
                    self._score(self._search.answer(proposal.number, answer).candidates)
        usage = Usage(output=sum(len(chain.ids) for chain in chains))
        texts = tuple(chain.text for chain in chains)
        self._search.complete(proposal.number, CompletedReply(completions=texts, usage=usage))

    def _score(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            evaluation = evaluate(self.problem, self._maze, candidate.program)
            self._search.tell(candidate.id, evaluation)
            scores = [evaluation.scores[name] for name in OBJECTIVES] if evaluation.ok else [0.0] * len(OBJECTIVES)
            self._best = max(self._best, float(np.mean(scores)))
            self.scores.append(scores)
            self.path.append((self._best, self._answers, self._tokens))


def prompt_ids(model: Model, problem: Problem, proposal: Proposal) -> list[int]:
    """The prompt of a proposal as the model reads it: built as for any policy, then cut down by its chat template."""
    prompt = build_prompt(PromptRequest(problem=problem, proposal=proposal, format=FORMAT), count=lambda _: 0)
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    return model.vocabulary.encode(model.render(messages))


def evaluate(problem: Problem, maze: Maze, program: Program) -> Evaluation:
    """Score a program of a maze problem as its evaluator does, without words for the next prompt."""
    answer = _DOMAIN.parse(program.text, 1).answers[0]
    if answer is None:
        return Evaluation(outcome=Outcome.INVALID, reason="it holds no walk")
    return read_result(dict(zip(OBJECTIVES, _DOMAIN.reward(maze, answer).tolist(), strict=True)), problem)


def _answers_of(chain: SampledChain, number: int, m: int) -> list[Answer]:
    parser = ChainParser(parse_format(FORMAT), limit=m)
    parsed = [*parser.feed(chain.text), *parser.close(cut=chain.finish_reason == "length")]
    return [Answer(chain=number, index=one.index, text=one.text) for one in parsed]

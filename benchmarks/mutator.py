"""A policy for benchmarks that improves what it is shown: the built-in syntax mutator behind a policy server.

It reads programs out of prompts, those of Evolve, OpenEvolve and ShinkaEvolve, so that all search with one and the same
policy: the program that the prompt asks to improve is changed, and the others that it shows lend their numbers.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from evolve.errors import PolicyRefused
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, Individual, Proposal
from service.policy.syntax.policy import SyntaxPolicy

# What stands before the program that is to be improved: in prompts of Evolve, of OpenEvolve, and of ShinkaEvolve.
HEADINGS = (
    "# The parent program, to be improved",
    "# Current Program\n",
    "# Current program\n",
    "# Incorrect Program to Fix\n",
)
_FENCE = re.compile(r"^(`{3,})[^\n`]*\n(.*?)\n?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^def ", re.MULTILINE)


@dataclass
class Mutator:
    """Writes children of what a prompt shows; equal seeds and prompts in equal order give equal children."""

    seed: int
    asked: int = 0
    _policy: SyntaxPolicy | None = field(default=None, repr=False)

    async def __call__(self, prompt: str, count: int) -> list[str]:
        """So many different children; fewer where there is nothing more to change, at least the parent itself."""
        parent, others = read_prompt(prompt)
        self.asked += 1
        seed = int(np.random.SeedSequence([self.seed, self.asked]).generate_state(1)[0])
        proposal = Proposal(
            id=f"prp_{self.asked}",
            number=self.asked,
            island=0,
            operator="mutate",
            parent=_individual(parent),
            inspirations=tuple(_individual(other) for other in others),
            seed=seed,
            answers=count,
            limit=count,
        )
        if self._policy is None:
            self._policy = SyntaxPolicy(_problem(parent), answers=count)
        try:
            written = [reply.text async for reply in self._policy.propose(proposal) if isinstance(reply, Answer)]
        except PolicyRefused:  # a program that is no Python and holds no number
            return [parent]
        return [match[2] + "\n" for text in written if (match := _FENCE.search(text))] or [parent]


def read_prompt(prompt: str) -> tuple[str, list[str]]:
    """The program that a prompt asks to improve, and the others that it shows.

    Raises:
        ValueError: there is none, or the prompt is of a form that is not known.
    """
    start = max(prompt.find(heading) for heading in HEADINGS)
    after = _FENCE.search(prompt, start) if start >= 0 else None
    if after is None:
        raise ValueError(f"the prompt shows no program to improve: {prompt[:200]!r}")
    programs = [match[2] + "\n" for match in _FENCE.finditer(prompt) if match.start() != after.start()]
    parent = after[2] + "\n"
    return parent, [text for text in dict.fromkeys(programs) if text != parent and _FUNCTION.search(text)]


def _individual(text: str) -> Individual:
    program = Program.of({"program.py": text})
    return Individual(candidate_id=program.id, program=program, evaluation=Evaluation(outcome=Outcome.OK), measures={})


def _problem(seed: str) -> Problem:
    return Problem(
        name="benchmark",
        seeds=(Program.of({"program.py": seed}),),
        evaluator=EvaluatorSpec(entry="solve"),
        objectives=(Objective(name="score", low=0.0, high=1.0),),
    )

"""Votes of a run on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign

Rule = Literal["majority", "weighted", "best_of_majority"]


class AnswerVotes(Foreign):
    """An answer, and how many candidates gave it."""

    answer: str = Field(description="The answer")
    votes: Count = Field(description="Number of candidates that gave it")
    share: float = Field(description="Of all votes")
    weight: float = Field(description="Sum of the fitness of those who gave it, each scaled to 0..1 over the run")
    best_fitness: float | None = Field(description="Null: none of them has one")
    best_candidate_id: str = Field(description="Id of the fittest candidate that gave it, among equals the oldest")


class RunVotes(Foreign):
    """What the candidates of a run answer, by a rule."""

    run_id: str = Field(description="Id of the run")
    rule: Rule = Field(description="Rule by which the winner was found")
    min_share: float = Field(description="From which `best_of_majority` takes an answer for frequent")
    votes: Count = Field(description="Candidates with an answer, repeats of a program included")
    answers: Count = Field(description="How many different ones there are")
    winner: AnswerVotes | None = Field(description="Null: nobody voted, or no answer is frequent enough")
    confidence: float | None = Field(
        description="With `majority`: how probable it is that the winner is more frequent than the runner-up; else null"
    )
    items: list[AnswerVotes] = Field(description="The answers, the winner first")
    omitted: Count = Field(description="Answers behind the last of `items`")

"""Votes of a run on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign

Rule = Literal["majority", "weighted", "best_of_majority"]


class AnswerVotes(Foreign):
    """An answer and its votes."""

    answer: str = Field(description="The answer")
    votes: Count = Field(description="Number of its votes")
    share: float = Field(description="Share of all votes")
    weight: float = Field(description="Sum of the fitness of its candidates, scaled to 0..1 over the run")
    best_fitness: float | None = Field(description="Fitness of its best candidate. Null: none")
    best_candidate_id: str = Field(description="Id of its fittest candidate, of equals the oldest")


class RunVotes(Foreign):
    """The answers of the candidates of a run, by a rule."""

    run_id: str = Field(description="Id of the run")
    rule: Rule = Field(description="Rule by which the winner was found")
    min_share: float = Field(description="From which `best_of_majority` takes an answer for frequent")
    votes: Count = Field(description="Candidates with an answer, repeats of a program included")
    answers: Count = Field(description="Number of different answers")
    winner: AnswerVotes | None = Field(description="Null: nobody voted, or no answer is frequent enough")
    confidence: float | None = Field(
        description="With `majority`: probability that the winner is more frequent than the runner-up. Otherwise null"
    )
    items: list[AnswerVotes] = Field(description="The answers, the winner first")
    omitted: Count = Field(description="Answers behind the last of `items`")

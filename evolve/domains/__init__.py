"""Domains: kinds of tasks with a prompt, a parser, and a reward vector for every answer."""

from evolve.domains.domain import (
    Domain,
    DomainReply,
    DomainWithExamples,
    DomainWithFloors,
    ScoredReply,
    floors_of,
    grade,
)
from evolve.domains.eureqa import Eureqa
from evolve.domains.livecodebench import LiveCodeBench
from evolve.domains.loading import open_domain
from evolve.domains.maze.domain import MazeDomain
from evolve.domains.musique import Musique
from evolve.domains.tagged import TaggedDomain
from evolve.domains.toolrl import ToolRL

__all__ = [
    "Domain",
    "DomainReply",
    "DomainWithExamples",
    "DomainWithFloors",
    "Eureqa",
    "LiveCodeBench",
    "MazeDomain",
    "Musique",
    "ScoredReply",
    "TaggedDomain",
    "ToolRL",
    "floors_of",
    "grade",
    "open_domain",
]

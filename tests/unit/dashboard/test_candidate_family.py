from datetime import UTC, datetime
from typing import Any

from service.dashboard.views.ancestry import relatives
from service.schemas.candidates import Candidate, CandidateUrls, Parent

BORN = datetime(2026, 1, 1, tzinfo=UTC)
URLS = CandidateUrls(
    self="", run="", source="", lineage="", children="", diff="", evaluations="", view=None, proposal=None
)


def candidate(name: str, number: int, *parents: tuple[str, str], fitness: float | None = 0.0) -> Candidate:
    blank: dict[str, Any] = {name: {} for name in ("scores", "measures", "cases", "spread")}
    return Candidate(
        id=name, run_id="run", program_id="pgm", proposal_id="prp", proposal_number=number, position=0,
        name=f"{number}.0", island=0,
        islands=[], operator="mutate", policy="", status="evaluated", outcome="ok", reason="", fitness=fitness,
        rewards=None, feedback="", seconds=1.0, isolation="", duplicate_of=None, created_at=BORN,
        parents=[Parent(candidate_id=id_, role=role) for id_, role in parents], evaluated_at=None, urls=URLS, **blank,
    )  # fmt: skip


def edges(*candidates: Candidate) -> dict[str, tuple[str | None, list[str]]]:
    return {one.candidate.id: (one.first, list(one.others)) for one in relatives(candidates)}


def test_a_child_of_two_stands_under_its_first_parent_and_is_tied_to_the_other() -> None:
    a, b = candidate("a", 0), candidate("b", 1, ("a", "parent"))
    child = candidate("c", 2, ("b", "parent"), ("a", "crossover"), ("d", "inspiration"))
    assert edges(child, a, b) == {"a": (None, []), "b": ("a", []), "c": ("b", ["a"])}


def test_a_child_whose_first_parent_is_not_shown_stands_under_the_other() -> None:
    child = candidate("c", 2, ("gone", "parent"), ("a", "crossover"))
    assert edges(candidate("a", 0), child)["c"] == ("a", [])


def test_an_inspiration_is_no_parent() -> None:
    assert edges(candidate("a", 0), candidate("b", 1, ("a", "inspiration")))["b"] == (None, [])


def test_the_family_stands_in_order_of_age() -> None:
    assert list(edges(candidate("c", 10), candidate("b", 2), candidate("a", 1))) == ["a", "b", "c"]


def test_what_was_gained_is_told_where_both_have_a_fitness() -> None:
    seed = candidate("a", 0, fitness=1.0)
    found = relatives(
        [seed, candidate("b", 1, ("a", "parent"), fitness=1.5), candidate("c", 2, ("a", "parent"), fitness=None)]
    )
    assert [one.delta for one in found] == [None, 0.5, None]

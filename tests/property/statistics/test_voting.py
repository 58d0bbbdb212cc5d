"""Votes: nobody loses by one more vote, and the order in which votes come is no matter."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evolve.statistics.voting import RULES, Ballot, count, decide

FITNESS = st.none() | st.integers(-8, 8).map(float)
VOTES = st.lists(st.tuples(st.sampled_from("abcd"), FITNESS), min_size=1, max_size=30)
RULE = st.sampled_from(sorted(RULES))


def ballots(votes: list[tuple[str, float | None]]) -> list[Ballot]:
    return [
        Ballot(answer=answer, fitness=fitness, candidate_id=f"cnd_{number}", age=(number,))
        for number, (answer, fitness) in enumerate(votes)
    ]


@given(VOTES, RULE, st.sampled_from([0.0, 0.1, 0.4]), st.floats(0, 1))
def test_one_more_vote_for_the_winner_never_dethrones_it(
    votes: list[tuple[str, float | None]], rule: str, min_share: float, place: float
) -> None:
    before = decide(count(ballots(votes)), rule, min_share).winner
    if before is None:
        return
    fits = [fitness for _, fitness in votes if fitness is not None]
    # Within the range of the run: beyond it the scale of every weight changes.
    fitness = min(fits) + place * (max(fits) - min(fits)) if fits else None
    after = decide(count(ballots([*votes, (before.answer, fitness)])), rule, min_share).winner
    assert after is not None
    assert after.answer == before.answer


@given(VOTES, RULE, st.randoms(use_true_random=False))
def test_the_order_of_votes_is_no_matter(votes: list[tuple[str, float | None]], rule: str, random: object) -> None:
    cast = ballots(votes)
    mixed = list(cast)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # a random.Random
    assert decide(count(mixed), rule) == decide(count(cast), rule)


@given(VOTES, RULE)
def test_every_answer_is_ranked_once_with_all_its_votes(votes: list[tuple[str, float | None]], rule: str) -> None:
    verdict = decide(count(ballots(votes)), rule)
    assert sorted(tally.answer for tally in verdict.ranking) == sorted({answer for answer, _ in votes})
    assert sum(tally.votes for tally in verdict.ranking) == len(votes)


@given(VOTES, RULE, st.integers(-5, 5), st.integers(1, 4))
def test_where_fitness_begins_and_its_unit_are_no_matter(
    votes: list[tuple[str, float | None]], rule: str, shift: int, unit: int
) -> None:
    cast = ballots(votes)
    moved = [replace(one, fitness=None if one.fitness is None else unit * one.fitness + shift) for one in cast]
    assert [one.answer for one in decide(count(moved), "majority").ranking] == [
        one.answer for one in decide(count(cast), "majority").ranking
    ]
    told = {one.answer: round(one.weight, 9) for one in decide(count(moved), rule).ranking}
    assert told == {one.answer: round(one.weight, 9) for one in decide(count(cast), rule).ranking}

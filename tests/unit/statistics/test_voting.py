"""Votes: what each rule makes of the same candidates, by hand, and how sure a majority is."""

from fractions import Fraction
from itertools import count as numbers
from math import comb

import pytest

from evolve.statistics.voting import MIN_SHARE, RULES, Ballot, VoteTable, count, decide, leads

# Three say b, two a, one c, which could not be scored; fitness goes from 0 to 10, and the fittest says d.
GIVEN = [("a", 2.0), ("b", 0.0), ("a", 6.0), ("b", 4.0), ("c", None), ("b", 5.0), ("d", 10.0)]


def ballots(given: list[tuple[str, float | None]]) -> list[Ballot]:
    return [
        Ballot(answer=answer, fitness=fitness, candidate_id=f"cnd_{number}", age=(number, 0))
        for number, (answer, fitness) in enumerate(given)
    ]


def ranked(given: list[tuple[str, float | None]], rule: str, min_share: float = MIN_SHARE) -> str:
    return "".join(tally.answer for tally in decide(count(ballots(given)), rule, min_share).ranking)


def test_votes_are_counted_with_weight_and_best_candidate() -> None:
    poll = count(ballots(GIVEN))
    assert (poll.votes, poll.answers) == (7, 4)
    told = {one.answer: (one.votes, round(one.weight, 9), one.fitness, one.candidate_id) for one in poll.tallies}
    assert told == {
        "a": (2, 0.8, 6.0, "cnd_2"),
        "b": (3, 0.9, 5.0, "cnd_5"),
        "c": (1, 0.0, None, "cnd_4"),
        "d": (1, 1.0, 10.0, "cnd_6"),
    }


def test_each_rule_has_its_winner() -> None:
    assert ranked(GIVEN, "majority") == "badc"
    assert ranked(GIVEN, "weighted") == "dbac"
    assert ranked(GIVEN, "best_of_majority", 2 / 7) == "abdc"
    assert ranked(GIVEN, "best_of_majority", 3 / 7) == "badc"


def test_with_no_least_share_the_fittest_wins_as_in_best_of_n() -> None:
    assert ranked(GIVEN, "best_of_majority", 0.0)[0] == "d"


def test_no_answer_wins_that_is_not_frequent_or_was_never_scored() -> None:
    assert decide(count(ballots(GIVEN)), "best_of_majority", 0.5).winner is None
    assert decide(count(ballots([("c", None)])), "best_of_majority", 0.0).winner is None
    assert decide(count([])).winner is None


def test_a_tie_goes_to_the_fitter_candidate_and_then_to_the_older() -> None:
    assert ranked([("a", 1.0), ("b", 2.0)], "majority") == "ba"
    assert ranked([("a", None), ("b", -9.0)], "majority") == "ba"
    assert ranked([("z", 1.0), ("a", 1.0)], "majority") == "za"


def test_equally_fit_candidates_weigh_the_same() -> None:
    poll = count(ballots([("a", 3.0), ("a", 3.0), ("b", 3.0)]))
    assert [tally.weight for tally in decide(poll, "weighted").ranking] == [2.0, 1.0]


def test_a_rule_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        decide(VoteTable(tallies=(), votes=0, answers=0), "plurality")


def integral(votes: int, others: int) -> Fraction:
    """P(p > 1/2) of Beta(votes + 1, others + 1): its density, a polynomial, integrated term by term."""
    terms = [Fraction((-1) ** k * comb(others, k), votes + k + 1) for k in range(others + 1)]
    above = [term * (1 - Fraction(1, 2 ** (votes + k + 1))) for k, term in enumerate(terms)]
    return sum(above, Fraction()) / sum(terms, Fraction())


@pytest.mark.parametrize(("votes", "others"), [(0, 0), (1, 0), (3, 2), (9, 0), (7, 7), (40, 31), (90, 60)])
def test_confidence_is_the_posterior_of_a_beta(votes: int, others: int) -> None:
    assert leads(votes, others) == pytest.approx(float(integral(votes, others)), abs=1e-12)


def test_confidence_by_hand() -> None:
    assert leads(1, 0) == pytest.approx(3 / 4)  # the density 2p from 1/2 to 1
    assert leads(3, 2) == pytest.approx(42 / 64)
    assert decide(count(ballots(GIVEN))).confidence == pytest.approx(42 / 64)
    assert decide(count(ballots([("a", 1.0)] * 4))).confidence == pytest.approx(31 / 32)


def test_confidence_holds_for_runs_of_any_length() -> None:
    assert leads(50_000, 50_000) == pytest.approx(0.5, abs=1e-6)
    assert leads(60_000, 40_000) == pytest.approx(1.0)
    # Far out a Beta is normal: a lead of two standard deviations of the difference of votes.
    assert leads(50_316, 49_684) == pytest.approx(0.97725, abs=1e-3)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "majority"])
def test_only_a_majority_is_told_how_sure_it_is(rule: str) -> None:
    assert decide(count(ballots(GIVEN)), rule).confidence is None


def test_confidence_grows_with_the_lead() -> None:
    told = [leads(10 + lead, 10) for lead in range(20)]
    assert told == sorted(told)
    assert next(lead for lead in numbers() if leads(10 + lead, 10) > 0.95) == next(
        lead for lead in numbers() if integral(10 + lead, 10) > Fraction(95, 100)
    )

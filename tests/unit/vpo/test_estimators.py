import itertools
import math

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import METHODS, Options, RolloutGroup, draw_weights, estimator
from evolve.vpo.estimators import entropic, gdpo, grpo, max_at_k, maxrl, multi_rlvr, multi_rlvr_best, vpo

CORNERS = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
NAMES = sorted(METHODS)
LEADS = ("max_at_k", "vector_max_at_k")  # credit for a lead over others, which the worst has not


def scalars(*values: float) -> RolloutGroup:
    """A group of single answers under one objective."""
    return RolloutGroup.of([[value] for value in values], weights=[[1.0]])


def test_vpo_normalises_set_rewards_in_the_group() -> None:
    group = RolloutGroup.of([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]], None], weights=CORNERS)
    # Set rewards 5/6, 1/2 and 0: mean 4/9, population variance 38/324.
    deviation = math.sqrt(38) / 18 + 1e-6
    expected = [(value - 4 / 9) / deviation for value in (5 / 6, 1 / 2, 0)]
    assert vpo([group])[0] == pytest.approx(expected, rel=1e-12)


def test_vpo_prefers_specialists_where_a_scalar_sees_no_difference() -> None:
    sets = [np.eye(3), np.full((3, 3), 1 / 3)]
    group = RolloutGroup.of(sets, weights=draw_weights(3, np.random.default_rng(0)))
    assert vpo([group])[0] == pytest.approx([1, -1], abs=1e-4)
    assert grpo([group])[0].tolist() == [0, 0]


def test_vpo_of_single_answers_is_grpo_under_the_mean_weight() -> None:
    flat = [[0.1, 0.9, 0.3], [0.5, 0.5, 0.5], [1.0, 0.0, 0.2]]
    drawn = draw_weights(3, np.random.default_rng(4), 50)
    group = RolloutGroup.of(flat, weights=drawn, preference=drawn.mean(axis=0))
    assert vpo([group])[0] == pytest.approx(grpo([group])[0])


def test_groups_may_differ_in_objectives_and_rollouts_in_answers() -> None:
    two = RolloutGroup.of([[[1.0, 0.0]], [[0.0, 0.0], [0.0, 0.5], [0.2, 0.0]]], weights=CORNERS)
    three = RolloutGroup.of([[1.0, 0.0, 0.0], np.eye(3)], weights=np.eye(3))
    first, second = vpo([two, three])
    assert first[0] > 0 > first[1]
    assert second == pytest.approx([-1, 1], abs=1e-5)


def test_a_duplicate_changes_nothing_for_vpo() -> None:
    once = RolloutGroup.of([[[1.0, 0.0]], [[0.0, 0.4]]], weights=CORNERS)
    twice = RolloutGroup.of([[[1.0, 0.0], [1.0, 0.0], None], [[0.0, 0.4], [0.0, 0.4]]], weights=CORNERS)
    assert vpo([twice])[0] == pytest.approx(vpo([once])[0])


@pytest.mark.parametrize("name", NAMES)
def test_an_unread_rollout_is_never_preferred_to_negative_rewards(name: str) -> None:
    rollouts = ([-0.5, -0.2], None, [-0.1, -0.9])
    with pytest.raises(RewardError, match=r"rollout 0 holds -0\.5 for objective 0 of answer 0, below its floor of 0"):
        RolloutGroup.of(rollouts, weights=CORNERS)
    group = RolloutGroup.of(rollouts, weights=CORNERS, floors={"first": -1.0, "second": -1.0})
    (found,) = estimator(name)([group], Options())
    assert found[1] == found.min() < found.max()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "maxrl"])
def test_advantages_do_not_depend_on_where_rewards_are_counted_from(name: str) -> None:
    rewards = np.random.default_rng(5).random((6, 2, 3))
    weights = draw_weights(3, np.random.default_rng(6), 20)
    floors = {"a": -3.0, "b": -0.5, "c": 0.0}
    plain = RolloutGroup.of(list(rewards), weights=weights)
    moved = RolloutGroup.of([matrix + list(floors.values()) for matrix in rewards], weights=weights, floors=floors)
    found, other = (estimator(name)([group], Options())[0] for group in (plain, moved))
    assert other == pytest.approx(found)


@pytest.mark.parametrize("size", [1.0, 1e10, 1e13, 1e99])
@pytest.mark.parametrize("name", NAMES)
def test_equal_rewards_of_any_size_teach_nothing(name: str, size: float) -> None:
    chain = [[0.1 * size, 0.7 * size], [0.3 * size, 0.2 * size]]
    turned = chain[::-1]  # the same set, summed in another order
    group = RolloutGroup.of([chain, turned, chain, chain, turned, chain, chain], weights=CORNERS)
    for k in (1, 2):
        found = estimator(name)([group], Options(k=k))[0] / (size if name in (*LEADS, "vpo_marginal") else 1.0)
        assert found == pytest.approx(np.zeros(7), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_group_of_equals_teaches_nothing(name: str) -> None:
    group = RolloutGroup.of([[[0.3, 0.6], [0.1, 0.1]]] * 4, weights=CORNERS)
    assert estimator(name)([group], Options())[0].tolist() == [0] * 4


@pytest.mark.parametrize("name", NAMES)
def test_a_group_without_any_matrix_gets_zeros(name: str) -> None:
    group = RolloutGroup.of([None, [], [None]], weights=CORNERS)
    assert estimator(name)([group], Options())[0].tolist() == [0, 0, 0]
    assert estimator(name)([RolloutGroup.of([None], weights=CORNERS)], Options())[0].tolist() == [0]
    assert estimator(name)([], Options()) == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_rollout_without_a_matrix_counts_as_zero_and_is_discouraged(name: str) -> None:
    missing = RolloutGroup.of([None, [0.8, 0.6], [0.2, 0.6]], weights=CORNERS)
    zeros = RolloutGroup.of([[0.0, 0.0], [0.8, 0.6], [0.2, 0.6]], weights=CORNERS)
    found = estimator(name)([missing], Options())[0]
    assert found.tolist() == estimator(name)([zeros], Options())[0].tolist()
    # The lead over others is what max@k gives credit for, and the worst leads nobody.
    assert found[0] == 0 if name in LEADS else found[0] < 0
    assert found[1] == found.max() > 0


def test_grpo_is_the_standard_score() -> None:
    found = grpo([scalars(1.0, 0.0, 0.0, 0.0)])[0]
    assert found == pytest.approx([math.sqrt(3), *[-1 / math.sqrt(3)] * 3], rel=1e-5)
    assert found[0] == pytest.approx(0.75 / (math.sqrt(3) / 4 + 1e-6), rel=1e-12)
    assert grpo([scalars(0.0, 1.5e-6)])[0].tolist() == [0, 0]


def test_the_preference_weighs_the_scalar() -> None:
    group = RolloutGroup.of([[1.0, 0.0], [0.0, 1.0]], preference=[3.0, 1.0])
    assert group.preference.tolist() == [0.75, 0.25]
    assert grpo([group])[0] == pytest.approx([1, -1], abs=1e-5)


def test_multi_answer_baselines_score_the_sum_or_the_best() -> None:
    group = RolloutGroup.of([[[0.6], [0.6], [0.6]], [[1.0], [0.1], [0.1]], [[0.0], [0.0], [0.9]]])
    for found, scores in (
        (multi_rlvr([group])[0], np.array([1.8, 1.2, 0.9])),
        (multi_rlvr_best([group])[0], np.array([0.6, 1.0, 0.9])),
    ):
        assert found == pytest.approx((scores - scores.mean()) / (scores.std() + 1e-6))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_max_at_k_credits_what_subsets_would_lose(k: int) -> None:
    values = [0.3, 0.9, 0.3, 0.1, 0.7]
    n = len(values)
    expected = []
    for i, own in enumerate(values):
        others = [value for j, value in enumerate(values) if j != i]
        if k == 1:
            expected.append(own - sum(others) / len(others))
            continue
        gains = [max(own, *rest) - max(rest) for rest in itertools.combinations(others, k - 1)]
        expected.append(n * sum(gains) / math.comb(n, k))
    assert max_at_k([scalars(*values)], Options(k=k))[0] == pytest.approx(expected)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (3, 2), (3, 3), (4, 2)])
def test_max_at_k_is_an_unbiased_gradient(n: int, k: int) -> None:
    # A softmax over three outcomes: the gradient of E[max of k] by enumeration of all k-tuples, against the mean of
    # (1/n) sum A_i grad log p_i over all n-tuples.
    p, worth = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.6, 1.0])
    scores = np.eye(3) - p

    def over(size: int) -> list[tuple[tuple[int, ...], float]]:
        return [(t, float(np.prod(p[list(t)]))) for t in itertools.product(range(3), repeat=size)]

    exact = sum((prob * worth[list(t)].max() * scores[list(t)].sum(axis=0) for t, prob in over(k)), np.zeros(3))
    estimate = np.zeros(3)
    for drawn, prob in over(n):
        advantages = max_at_k([scalars(*worth[list(drawn)])], Options(k=k))[0]
        estimate += prob * (advantages @ scores[list(drawn)]) / n
    assert estimate == pytest.approx(exact)


def test_max_at_k_takes_half_of_the_group_unless_told() -> None:
    group = scalars(*np.random.default_rng(0).random(9))
    assert max_at_k([group])[0].tolist() == max_at_k([group], Options(k=4))[0].tolist()
    assert max_at_k([scalars(0.1, 0.2, 0.4)])[0] == pytest.approx([0, 0.1, 0.5])
    with pytest.raises(RewardError, match="k = 10 needs groups of at least as many rollouts, not 9"):
        max_at_k([group], Options(k=10))


def test_gdpo_normalises_each_objective_and_whitens_the_batch() -> None:
    first = RolloutGroup.of([[0.0, 100.0], [1.0, 100.0], [1.0, 400.0]])
    second = RolloutGroup.of([[0.0, 0.0], [0.5, 0.0]])

    def score(column: list[float]) -> Floats:
        values = np.array(column)
        return np.asarray((values - values.mean()) / (values.std() + 1e-6))

    summed = [*(score([0, 1, 1]) + score([100, 100, 400])) / 2, *score([0, 0.5]) / 2]
    expected = score([float(value) for value in summed])
    found = gdpo([first, second])
    assert [len(part) for part in found] == [3, 2]
    assert np.concatenate(found) == pytest.approx(expected)
    # Groups on other scales count alike: objective 1 moves as much as objective 0 does.
    assert gdpo([RolloutGroup.of([[0.0, 300.0], [1.0, 0.0]])])[0].tolist() == pytest.approx([0, 0], abs=1e-6)


def test_maxrl_divides_by_the_mean() -> None:
    assert maxrl([scalars(1.0, 0.0, 0.0, 0.0)])[0] == pytest.approx([3, -1, -1, -1], rel=1e-5)
    assert maxrl([scalars(0.0, 0.0)])[0].tolist() == [0, 0]
    below = RolloutGroup(rollouts=(np.array([[1.0]]), np.array([[-0.5]])), preference=np.ones(1))
    with pytest.raises(RewardError, match=r"'maxrl' needs rewards of at least 0, not -0\.5"):
        maxrl([below])


@pytest.mark.parametrize("divergence", [0.1, math.log(2)])
def test_entropic_sets_its_temperature_by_the_divergence(divergence: float) -> None:
    values = np.array([0.2, 0.9, 0.4, 0.4, 0.1, 0.6])
    found = entropic([scalars(*values)], Options(divergence=divergence))[0]
    # A = e^(b r_i) / mean of the others' - 1 is the odds of the softmax q, times n - 1, less 1.
    share = (found + 1) / (found + len(values))
    assert share.sum() == pytest.approx(1)
    assert (share * np.log(share * len(values))).sum() == pytest.approx(divergence)
    slopes = np.diff(np.log(share)[np.argsort(values)])[[0, 1, 3, 4]] / np.diff(np.sort(values))[[0, 1, 3, 4]]
    beta = slopes.mean()
    assert slopes == pytest.approx(beta)
    powers = np.exp(beta * values)
    expected = [powers[i] / np.delete(powers, i).mean() - 1 for i in range(len(values))]
    assert found == pytest.approx(expected)


def test_entropic_stays_finite_where_ties_keep_the_divergence_out_of_reach() -> None:
    for values in ([1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0 - 1e-15, 0.0], [1.0, 1 - 1e-9, 0.0, 0.0], [1e99, 1.0, 0.0]):
        found = entropic([scalars(*values)])[0]
        assert np.isfinite(found).all()
        assert found[0] > 0 > found[-1]
    assert entropic([scalars(1.0, 1.0, 0.0)])[0][0] == entropic([scalars(1.0, 1.0, 0.0)])[0][1]


def test_estimators_are_named_and_unknown_names_refused() -> None:
    assert estimator("vpo") is vpo
    with pytest.raises(RewardError, match=r"No training method is called 'ppo'; there are vpo, vpo_single, grpo, gdpo"):
        estimator("ppo")
    with pytest.raises(RewardError, match="needs weights that the group shares"):
        vpo([RolloutGroup.of([[0.5, 0.5]])])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"k": 0}, "k of at least 1"),
        ({"divergence": -1.0}, "divergence"),
        ({"divergence": math.inf}, "divergence"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float], said: str) -> None:
    with pytest.raises(RewardError, match=said):
        Options(**options)  # type: ignore[arg-type]  # hostile values on purpose

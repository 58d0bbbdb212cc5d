"""The benchmark of stages: an arm is compared with its base by example, paired by seed."""

import pytest

from benchmarks.advised import AdvisedAuthor
from benchmarks.stages import compared, cost


def _results(*best: float | None) -> list[dict[str, object]]:
    return [{"best": {"10": one}, "seconds": 1.0, "proposals": 4, "tokens": 0} for one in best]


def test_leads_are_paired_by_seed_and_adjusted_over_examples() -> None:
    own = {"one": _results(*(float(seed + 1) for seed in range(8))), "two": _results(*[2.0] * 8)}
    base = {"one": _results(*(float(seed) for seed in range(8))), "two": _results(*[2.0] * 8)}
    found = compared(own, base, "10")
    assert found["one"] == {
        "mean": 4.5, "base": 3.5, "lead": "+1.000 [+1.000, +1.000]", "ahead": 8, "behind": 0, "without_score": 0,
        "p": 0.0,
    }  # fmt: skip
    assert (found["two"]["ahead"], found["two"]["behind"], found["two"]["p"]) == (0, 0, 1.0)


def test_a_pair_without_a_score_is_left_out_and_counted() -> None:
    found = compared({"one": _results(None, 2.0)}, {"one": _results(1.0, 1.0)}, "10")["one"]
    assert found["without_score"] == 1
    assert (found["mean"], found["base"], found["lead"]) == (2.0, 1.0, None)


def test_the_cost_is_a_mean_over_runs() -> None:
    assert cost({"one": _results(1.0), "two": _results(1.0, 1.0)}) == {
        "seconds": pytest.approx(1.0), "proposals": pytest.approx(4.0), "tokens": 0.0,
        "dear_proposals": 0.0,
    }  # fmt: skip


PROMPT = """# Problem
Facts:
- 1 to 2 (1.0, mutate): replaced `step = 0.5` by `step = 0.7`
# The parent program, to be improved

```python
step = 1.0
print(step)
```
"""


async def test_a_scripted_author_moves_a_line_on_as_the_facts_tell() -> None:
    author = AdvisedAuthor(seed=1)
    told = await author(PROMPT, 400)
    moved = [float(child.split()[2]) for child in told if child.startswith("step = ")]
    plain = await AdvisedAuthor(seed=1)(PROMPT.replace("replaced", "kept"), 400)
    drawn = [float(child.split()[2]) for child in plain]
    assert len(moved) == len(drawn) == 400
    assert sum(1.0 <= value <= 1.4 for value in moved) > sum(1.0 <= value <= 1.4 for value in drawn) + 50
    assert all(child.endswith("\nprint(step)") for child in told)


async def test_a_scripted_author_keeps_a_program_without_numbers() -> None:
    assert await AdvisedAuthor(seed=1)("# The parent program\n```\nx = y\n```\n", 2) == ["x = y"] * 2

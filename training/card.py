"""Model cards: the description of a bundled policy, its training, and its scores."""

from collections.abc import Mapping, Sequence

from evolve.vpo import METHODS
from training.recipe import Recipe

SHOWN = ("best@1", "best@4", "best@16", "best@64", "solved@64", "ew@64", "volume", "diversity")

DESCRIPTIONS: Mapping[str, str] = {
    "base": "the warm start alone: imitation of a noisy demonstrator",
    "vpo": "Vector Policy Optimization (arXiv 2605.22817): the set reward of a chain under shared Dirichlet weights",
    "grpo": "GRPO (arXiv 2402.03300): the mean of the objectives, single answers",
    "multi_rlvr": "a chain's sum of the mean of the objectives",
    "multi_rlvr_best": "a chain's best answer under the mean of the objectives",
    "max_at_k": "Max@k (arXiv 2510.23393): the expected best of half of the group, single answers",
}

_CARD = """\
---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [evolve, vector-policy-optimization, maze]
---

# {title}

A Llama of {millions:.2f} million weights, trained from scratch to walk through mazes
(`evolve.domains.maze`). Method: {method}.

The model solves mazes of up to 9x9 cells, and nothing else. It reads the maze in a short form, a parent walk with its
reward vector if there is one, and the number of walks to write. It writes walks in `<route_i>` tags. Its chat template
extracts this input from an ordinary prompt of `evolve run`. So you can use the folder as it is with transformers, with
vLLM and with `evolve run --policy bundled:...`.

## How it was made

```
{command}
```

* Seed: {seed}
* Mazes: {kinds}, from a pool of {pool} of each kind of the training split
* Warm start: {warm_steps} updates of {warm_mazes} mazes with {warm_chains} chains
{reinforced}* Weights: stored in half precision

## Results

The figures are means over {mazes} mazes of the validation split that the model was not trained on,
with {answers} answers for each maze at temperature 1.

* `best@k`: expected mean of the four objectives of the best of k answers
* `solved@64`: share of mazes whose exact optimum is among 64 answers
* `ew@64`: expected best under random weights, divided by that of the exact optimum
* `volume`: hypervolume
* `diversity`: mean distance between reward vectors

{table}
"""


def card(
    *,
    name: str,
    method: str,
    command: str,
    weights: int,
    recipe: Recipe,
    figures: Mapping[str, Mapping[str, float]],
    mazes: int,
    answers: int,
) -> str:
    """The card of a policy.

    Args:
        name: of the model folder.
        method: of `evolve.vpo.METHODS`, or `base`.
        command: makes it again.
        weights: number of its weights.
        figures: by kind of maze, the figures of `training.measures`.
    """
    learnt = recipe.reinforcement
    reinforced = (
        ""
        if method == "base"
        else f"* Reinforcement: {learnt.steps} steps on {learnt.mazes} mazes with {learnt.answers} answers each"
        f" in chains of {learnt.m}{'' if learnt.k is None else f', k = {learnt.k}'}, learning rate {learnt.rate:g}\n"
    )
    return _CARD.format(
        title=name,
        millions=weights / 1e6,
        method=DESCRIPTIONS[method] if method in DESCRIPTIONS else f"{METHODS[method].title} (`{method}`)",
        command=command,
        seed=recipe.seed,
        kinds=" and ".join(recipe.kinds),
        pool=recipe.pool,
        warm_steps=recipe.warm_start.steps,
        warm_mazes=recipe.warm_start.mazes,
        warm_chains=recipe.warm_start.chains,
        reinforced=reinforced,
        mazes=mazes,
        answers=answers,
        table=_table(figures),
    )


def _table(figures: Mapping[str, Mapping[str, float]]) -> str:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    head = [row(["mazes", *SHOWN]), row(["---"] * (len(SHOWN) + 1))]
    rows = [row([kind, *(f"{found[name]:.3f}" for name in SHOWN)]) for kind, found in figures.items()]
    return "\n".join([*head, *rows])

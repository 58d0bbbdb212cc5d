"""EUREQA: chains of masked entities, resolved from the last back to the first.

Reward (Vector Policy Optimization, arXiv 2605.22817; data: EUREQA, vincentleebang/EUREQA): exact match of each of the
five entities.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from evolve.domains.blocks import blocks, field, fill
from evolve.domains.domain import DomainReply
from evolve.domains.overlap import same
from evolve.errors import ProblemError
from evolve.multiobjective.scalarization import Floats

LETTERS = "ABCDE"
OBJECTIVES = tuple(f"entity_{letter}" for letter in LETTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EureqaQuestion:
    """A question.

    Attributes:
        narrative: the sentences that join the masked entities. The last of them names an entity without a mask.
        masks: names of the five entities in the narrative, the requested entity first.
        entities: the entities, in the same order.

    Raises:
        ProblemError: there are not five of each.
    """

    narrative: str
    masks: tuple[str, ...]
    entities: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.masks) != len(LETTERS) or len(self.entities) != len(LETTERS):
            raise ProblemError(
                f"a question has {len(LETTERS)} masks and entities, not {len(self.masks)} and {len(self.entities)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Eureqa:
    """Name five masked entities. An answer is five names, empty if a name is missing."""

    name: str = "eureqa"

    def objectives(self, question: EureqaQuestion) -> tuple[str, ...]:  # noqa: ARG002 - the shape all domains have
        """entity_A to entity_E."""
        return OBJECTIVES

    def task(self, question: EureqaQuestion) -> str:
        """The narrative and the masks."""
        masks = "\n".join(f"{tag}: {mask}" for tag, mask in zip(OBJECTIVES, question.masks, strict=True))
        return f"{question.narrative}\n\nFive names are masked. Work back from the given name:\n{masks}"

    def prompt(self, question: EureqaQuestion, m: int = 1) -> str:
        """The narrative, the masks, and the form of the reply."""
        form = "\n".join(f"<{tag}>Name_of_it</{tag}>" for tag in OBJECTIVES)
        ask = (
            f"Give all five names, as in the titles of their Wikipedia pages:\n{form}"
            if m == 1
            else f"Give {m} chains with different entities, not the same entities in other words. Put each between"
            f" tags of its own, <response_1> to <response_{m}>, with all five names as in the titles of their Wikipedia"
            f" pages:\n<response_1>\n{form}\n</response_1>"
        )
        return f"{self.task(question)}\n\n{ask}\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[tuple[str, ...]]:
        """Chains in `<response_i>` tags, each with `<entity_A>` to `<entity_E>`.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        return fill(*blocks(text, "response", m, cut), m, _chain)

    def reward(self, question: EureqaQuestion, answer: tuple[str, ...]) -> Floats:
        """(5,): 1 for each correct name, ignoring case, punctuation, articles and underscores."""
        return np.array([float(_matches(*pair)) for pair in zip(answer, question.entities, strict=True)])

    def scalar(self, vector: Floats) -> float:
        """The mean."""
        return float(vector.mean())

    def identity(self, answer: tuple[str, ...], vector: Floats) -> Hashable:  # noqa: ARG002 - all domains have it
        """The reward vector."""
        return tuple(vector.tolist())


def _chain(text: str) -> tuple[tuple[str, ...] | None, str]:
    names = tuple(field(text, tag) or "" for tag in OBJECTIVES)
    if not any(names):
        return None, "the chain names no entity"
    missing = [letter for letter, name in zip(LETTERS, names, strict=True) if not name]
    return names, f"no name for {', '.join(missing)}" if missing else ""


def _matches(name: str, entity: str) -> bool:
    return bool(name) and same(name.replace("_", " "), entity.replace("_", " "), articles=False)

"""Reply forms: how a policy is asked to write its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """How a policy is asked to write.

    Attributes:
        format: how the answers of a chain are set apart; see `evolve.answers.chain.parse_format`.
        edits: what is written: `rewrite` (a whole program), `continue` (the rest of one that begins as its parent does)
            or `diff` (edits of the parent).
        answers: m, answers asked of one chain.
        samples: n, chains asked of one proposal.
    """

    format: str
    edits: str
    answers: int
    samples: int

    @property
    def name(self) -> str:
        """The form in a few words, the same wherever it is named."""
        return f"{self.edits}:{self.answers}"

    def as_json(self) -> dict[str, Any]:
        """The form as an event tells it."""
        return {"format": self.format, "edits": self.edits, "answers": self.answers, "samples": self.samples}

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> "ReplyForm":
        """The form that an event tells of."""
        return cls(
            format=value["format"], edits=value["edits"], answers=int(value["answers"]), samples=int(value["samples"])
        )


def allowed_forms(forms: Sequence[ReplyForm], answers: int, samples: int) -> tuple[ReplyForm, ...]:
    """The forms that a run leaves open which says itself how many answers it wants.

    Args:
        forms: of a policy, its own first.
        answers: m that the run wants of each chain; 0: as the form says.
        samples: n that the run wants of each proposal; 0: as the form says.
    """
    wanted = [form for form in forms if answers in {0, form.answers}] or list(forms[:1])
    kept = (replace(form, answers=answers or form.answers, samples=samples or form.samples) for form in wanted)
    return tuple(dict.fromkeys(kept))

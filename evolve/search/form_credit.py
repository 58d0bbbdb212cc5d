"""Form credit: which reply form brings a policy's proposals most for its tokens.

A strong model gives most in long chains of edits, a small one in one whole program a completion. Which of them a policy
is, its answers tell: the form of each proposal is drawn by Thompson sampling over what the forms have brought.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evolve.answers.continuation import CONTINUE, MAX_SHARE
from evolve.proposal import Usage
from evolve.reply_form import ReplyForm
from evolve.selection import briefly

# Of the generator that draws the form of a proposal, beside those of its policy and its parent.
_STREAM = 3
# Each proposal makes the ones before it count less: programs grow, and a form that suited a short one may not last.
_DECAY = 0.97
# What is believed before the first answer: as if so many answers had been seen, and this share of them of use.
_PRIOR_ANSWERS = 3.0
_PRIOR_SHARES = {"rewrite": 0.6, CONTINUE: 0.6, "diff": 0.4}
# A reply that goes on from a beginning leaves a model no room to think. It is for models of whose own replies less than
# this share is of use, in whatever form.
MAX_SHARE_TO_CONTINUE = 0.5
# A first answer counts as much as this: tokens of a list of edits, and the share of a program that they repeat.
_EDIT_TOKENS = 120.0
_EDIT_SHARE = 0.15
# A chain begins with some words of its own, however many answers follow.
_OPENING_TOKENS = 60.0


@dataclass(slots=True, kw_only=True)
class FormRecord:
    """What one form has brought one policy, older proposals counting less.

    Attributes:
        answers: answers that were asked for.
        useful: of these, children that were new and, as far as they are evaluated, valid.
        tokens: what the completions took, in output tokens; see `cost`.
    """

    answers: float = 0.0
    useful: float = 0.0
    tokens: float = 0.0

    def fade(self) -> None:
        """Make what was seen so far count less."""
        self.answers *= _DECAY
        self.useful *= _DECAY
        self.tokens *= _DECAY


def cost(tokens: Usage) -> float:
    """What a completion took, in output tokens: an input token that no cache held costs a quarter of one."""
    return tokens.output + (tokens.input - tokens.cached) / 4


@dataclass(slots=True)
class FormRecords:
    """What each form has brought each policy; a fold over the events of a run.

    Attributes:
        records: by policy and form.
        forms: of proposals of which not all is known yet, by number: policy, form, and children that may fail.
    """

    records: dict[tuple[str, ReplyForm], FormRecord] = field(default_factory=dict)
    _open: dict[int, tuple[str, ReplyForm]] = field(default_factory=dict)
    _awaited: dict[int, int] = field(default_factory=dict)

    def of(self, policy: str, form: ReplyForm) -> FormRecord:
        """What a form has brought a policy."""
        return self.records.get((policy, form)) or FormRecord()

    def begin(self, number: int, policy: str, form: ReplyForm) -> None:
        """A proposal asks a policy in a form; what the policy brought before counts less from here on."""
        for (name, _), record in self.records.items():
            if name == policy:
                record.fade()
        self._open[number] = policy, form
        self._awaited[number] = 1  # its own last word

    def create(self, number: int) -> None:
        """A new child of a proposal awaits its evaluation: it counts as valid until it is not."""
        if number in self._open:
            self._record(*self._open[number]).useful += 1.0
            self._awaited[number] += 1

    def evaluate(self, number: int, valid: bool) -> None:
        """A child was evaluated, or turned out to repeat an earlier one (not valid)."""
        if number in self._open:
            if not valid:
                record = self._record(*self._open[number])
                record.useful = max(0.0, record.useful - 1.0)
            self._settle(number)

    def close(self, number: int, asked: int, tokens: Usage | None) -> None:
        """A policy has written its last word on a proposal.

        Args:
            number: of the proposal.
            asked: answers that were asked for.
            tokens: what was written; None: nothing was, and the form has nothing to do with that.
        """
        if number not in self._open:
            return
        if tokens is not None:
            record = self._record(*self._open[number])
            record.answers += asked
            record.tokens += cost(tokens)
        self._settle(number)

    def _settle(self, number: int) -> None:
        self._awaited[number] -= 1
        if not self._awaited[number]:
            del self._awaited[number], self._open[number]

    def draw(
        self, policy: str, forms: Sequence[ReplyForm], program_tokens: float, seed: Sequence[int]
    ) -> tuple[ReplyForm, dict[str, float | None]]:
        """The form of a proposal, and what spoke for it; nothing where there is but one.

        Thompson sampling (Thompson, 1933): a share of useful answers is drawn from the Beta posterior of each form, and
        the form whose drawn share over its tokens an answer is highest is asked for.

        Args:
            policy: that is asked.
            forms: it may be asked in.
            program_tokens: of the parent, about: before its first answer a form is believed to take that many to write
                a program, and a part of them to edit it.
            seed: of the random stream: that of the run and the number of the proposal.
        """
        if len(forms) == 1:
            return forms[0], {}
        rng = np.random.default_rng([*seed, _STREAM])
        beliefs = [_believe(form, self.records.get((policy, form), FormRecord()), program_tokens) for form in forms]
        places = _places(forms, beliefs)
        drawn = [float(rng.beta(belief.useful, belief.useless)) / belief.tokens for belief in beliefs]
        place = max(places, key=drawn.__getitem__)
        belief = beliefs[place]
        return forms[place], briefly({"useful": belief.share, "tokens": belief.tokens})

    def _record(self, policy: str, form: ReplyForm) -> FormRecord:
        return self.records.setdefault((policy, form), FormRecord())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Belief:
    """The posterior of one form: the parameters of a Beta distribution, and tokens an answer."""

    useful: float
    useless: float
    tokens: float

    @property
    def share(self) -> float:
        return self.useful / (self.useful + self.useless)


def _places(forms: Sequence[ReplyForm], beliefs: Sequence[_Belief]) -> list[int]:
    """The forms among which is drawn: `continue` only where no other form is of much use."""
    own = [place for place, form in enumerate(forms) if form.edits != CONTINUE]
    if any(beliefs[place].share >= MAX_SHARE_TO_CONTINUE for place in own):
        return own
    return list(range(len(forms)))


def _believe(form: ReplyForm, record: FormRecord, program_tokens: float) -> _Belief:
    share = _PRIOR_SHARES[form.edits]
    first = _first_tokens(form.edits, program_tokens) + _OPENING_TOKENS / form.answers
    useful = min(record.useful, record.answers)
    return _Belief(
        useful=_PRIOR_ANSWERS * share + useful,
        useless=_PRIOR_ANSWERS * (1.0 - share) + record.answers - useful,
        tokens=max(1.0, (_PRIOR_ANSWERS * first + record.tokens) / (_PRIOR_ANSWERS + record.answers)),
    )


def _first_tokens(edits: str, program_tokens: float) -> float:
    """Tokens that an answer is believed to take before the first was seen."""
    if edits == CONTINUE:
        return (1.0 - MAX_SHARE / 2) * program_tokens
    return program_tokens if edits != "diff" else _EDIT_TOKENS + _EDIT_SHARE * program_tokens


def program_tokens(characters: int) -> float:
    """About how many tokens a program of so many characters takes to write."""
    return math.ceil(characters / 3.5)

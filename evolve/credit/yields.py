"""Yields: what the answers of each policy became, as a fold of events, and whether a run can continue with them."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.answers.edit import CHANGES_NOTHING, EQUALS_PARENT, TOO_NEAR
from evolve.proposal import RejectedText

REFUSALS = 5
REFUSALS_IN_A_ROW = 20
UNUSABLE_ANSWERS = 20
FAILED_CHILDREN = 5
WINDOW = 24
MAX_KINDS = 8
MAX_REASON = 160
EXHAUSTED = "exhausted"
POLICY_REFUSED = "policy_refused"
NO_USABLE_ANSWERS = "no_usable_answers"
NO_NEW_PROGRAMS = "no_new_programs"
NO_VALID_CHILDREN = "no_valid_children"
EXTENSION_FAILED = "extension_failed"
UNSUCCESSFUL = frozenset(
    {"error", POLICY_REFUSED, NO_USABLE_ANSWERS, NO_NEW_PROGRAMS, NO_VALID_CHILDREN, EXTENSION_FAILED}
)
# Ends before which a search must have taken place; who asks for one evaluation asks for that of the seed.
_WITHOUT_CHILDREN = frozenset({EXHAUSTED, "answers", "tokens", "money", "wall_seconds"})
LOST = "lost"
DUPLICATE = "the answer is the same program as an earlier one"
# Reasons of answers that the policy wrote as it should: what they lack is anything new.
_NOTHING_NEW = (EQUALS_PARENT, CHANGES_NOTHING, TOO_NEAR)
NO_ANSWER = "the completion brought no answer"
# Names, numbers and quoted values are of one program.
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|cnd_\w+|[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


def short(reason: str, longest: int = MAX_REASON) -> str:
    """A reason on one line, cut to a length."""
    flat = " ".join(reason[: 4 * longest].split())
    return flat if len(flat) <= longest else flat[: longest - 3] + "..."


def times(count: int) -> str:
    """How often."""
    return "once" if count == 1 else f"{count} times"


def kind(reason: str) -> str:
    """What equal reasons share: the reason without its quotes, numbers and ids."""
    return _OWN.sub("*", " ".join(reason.split()))


def grouped(reasons: Iterable[str], maximum: int = MAX_KINDS) -> tuple[tuple[str, int], ...]:
    """Reasons by kind with their counts, the most frequent first; each kind is told in the words of its latest."""
    counts: Counter[str] = Counter()
    words: dict[str, str] = {}
    for reason in map(short, reasons):
        counts[kind(reason)] += 1
        words[kind(reason)] = reason
    return tuple((words[one], count) for one, count in counts.most_common(maximum))


def grouped_drops(dropped: Sequence[RejectedText]) -> dict[str, int]:
    """Drops of a completion by kind, as its event tells them."""
    return dict(grouped(one.reason for one in dropped))


@dataclass(slots=True, kw_only=True)
class PolicyYield:
    """What the answers of one policy became.

    Attributes:
        refusals: identical refusals in a row, with nothing written.
        refused: refusals in a row for whatever reason, with nothing written.
        refusal: the reason of the latest refusal.
        programs: answers that became a program, duplicates included.
        duplicates: those of them that there were already.
        unusable: answers and completions that became none.
        repeated: those of them that were readable, and hardly other than a program that there is.
        reasons: their reasons, the latest of each kind; of a bounded number of kinds.
        latest: what the last answers became: a reason, or nothing where they could be used.
    """

    refusals: int = 0
    refused: int = 0
    refusal: str = ""
    programs: int = 0
    duplicates: int = 0
    unusable: int = 0
    repeated: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def create(self) -> None:
        """An answer became a program."""
        self.programs += 1
        self.latest.append("")

    def repeat(self) -> None:
        """The program that was created last is a duplicate."""
        self.duplicates += 1
        if self.latest:
            self.latest[-1] = DUPLICATE

    def reject(self, reason: str, count: int = 1) -> None:
        """An answer, or some, became no program."""
        reason = short(reason)
        self.unusable += count
        self.repeated += count if reason.startswith(_NOTHING_NEW) else 0
        self.latest.extend([reason] * min(count, WINDOW))
        one = kind(reason)
        if one in self.counts or len(self.counts) < 4 * MAX_KINDS:
            self.counts[one] += count
            self.words[one] = reason

    def complete(self, drops: Mapping[str, int], dropped: int, answers: int) -> None:
        """A completion ended."""
        self.refusals = self.refused = 0
        for reason, count in drops.items():
            self.reject(reason, count)
        rest = dropped - sum(drops.values())
        if rest > 0 or not (dropped or answers):
            self.reject(NO_ANSWER, max(1, rest))

    def refuse(self, reason: str, *, written: bool) -> None:
        """A proposal failed."""
        same = reason == self.refusal
        self.refusals = 0 if written else self.refusals + 1 if same else 1
        self.refused = 0 if written else self.refused + 1
        self.refusal = reason

    def fails(self, forms: int) -> str:
        """Why a run of this policy alone comes to nothing; empty: it may come to something.

        Args:
            forms: in how many forms it may be asked. A model may be able to write in one of them alone.
        """
        if self.refusals >= REFUSALS or self.refused >= REFUSALS_IN_A_ROW:
            return POLICY_REFUSED
        if self.programs or self.unusable < UNUSABLE_ANSWERS * max(1, forms):
            return ""
        return NO_NEW_PROGRAMS if 2 * self.repeated > self.unusable else NO_USABLE_ANSWERS

    def rejections(self, maximum: int) -> tuple[tuple[str, int], ...]:
        """Why the last answers could not be used: the most frequent kinds of reasons, with how often each came."""
        return grouped((reason for reason in self.latest if reason), maximum) if maximum else ()


@dataclass(slots=True, kw_only=True)
class PolicyYields:
    """What the answers of all policies of a run became.

    Attributes:
        policies: by name.
        children: candidates evaluated that are no seeds, by outcome; cancelled ones excepted.
        readable: answers since the last new program that were readable, and nothing new.
        unreadable: answers and completions since then that became no program.
    """

    policies: dict[str, PolicyYield] = field(default_factory=dict)
    children: Counter[str] = field(default_factory=Counter)
    readable: int = 0
    unreadable: int = 0

    def of(self, policy: str) -> PolicyYield:
        """That of one policy."""
        return self.policies.get(policy) or PolicyYield()

    def create(self, policy: str) -> None:
        """An answer of a policy became a program."""
        self._yield(policy).create()

    def refuse(self, policy: str, reason: str, *, written: bool) -> None:
        """A proposal to a policy failed."""
        self._yield(policy).refuse(reason, written=written)

    def reject(self, policy: str, reason: str) -> None:
        """An answer of a policy became no program."""
        self._yield(policy).reject(reason)
        if reason.startswith(_NOTHING_NEW):
            self.readable += 1
        else:
            self.unreadable += 1

    def repeat(self, policy: str) -> None:
        """The program that a policy wrote last is a duplicate."""
        self._yield(policy).repeat()
        self.readable += 1

    def complete(self, policy: str, drops: Mapping[str, int], dropped: int, answers: int) -> None:
        """A completion of a policy ended."""
        self._yield(policy).complete(drops, dropped, answers)
        self.unreadable += dropped or not answers

    def renew(self) -> None:
        """A proposal brought a new program."""
        self.readable = self.unreadable = 0

    def failed(self, forms: Mapping[str, int]) -> str | None:
        """Why a run cannot go on, by what every one of its policies did; None: it can.

        Args:
            forms: in how many forms each policy may be asked, by name.
        """
        reasons = [self.of(policy).fails(count) for policy, count in forms.items()]
        if not all(reasons):
            return None
        if all(reason == POLICY_REFUSED for reason in reasons):
            return POLICY_REFUSED
        if self.children:
            return None
        return NO_NEW_PROGRAMS if NO_NEW_PROGRAMS in reasons else NO_USABLE_ANSWERS

    def judged(self, reason: str) -> str:
        """The reason of an end, or why it is a failure.

        Nothing was evaluated, or all of it failed, or the policy gave nothing that could be read for so long that the
        run is exhausted: a search that finds nothing new writes programs that there are.
        """
        if reason in _WITHOUT_CHILDREN and not self.children:
            # A new program that no time was left to evaluate says nothing against its policy.
            waiting = any(one.programs > one.duplicates for one in self.policies.values())
            return reason if waiting else self._fruitless()
        if reason == EXHAUSTED and not self.readable:
            return NO_USABLE_ANSWERS if self.unreadable else POLICY_REFUSED
        many = self.children.total() >= FAILED_CHILDREN
        return NO_VALID_CHILDREN if many and not self.children["ok"] and reason not in UNSUCCESSFUL else reason

    def _fruitless(self) -> str:
        if any(one.programs or one.repeated for one in self.policies.values()):
            return NO_NEW_PROGRAMS
        refused = any(one.refusals for one in self.policies.values())
        unusable = any(one.unusable for one in self.policies.values())
        return POLICY_REFUSED if refused and not unusable else NO_USABLE_ANSWERS

    def detail(self, reason: str, last: str = "", denied: str = "") -> str:
        """One sentence on why a run failed, with the cure; empty for an end that is no failure.

        Args:
            reason: of the end.
            last: why the child that was evaluated last failed.
            denied: why the policies could not be asked at last; empty: they could.
        """
        match reason:
            case "policy_refused":
                return self._refused()
            case "no_usable_answers":
                return self._unusable(denied)
            case "no_new_programs":
                programs = sum(one.programs + one.repeated for one in self.policies.values())
                near = any(kind(TOO_NEAR) in words for one in self.policies.values() for words in one.counts)
                return (
                    f"none of {programs} programs was new, each repeated an earlier one: try a higher temperature,"
                    f" a larger model, or {'a smaller novelty.min_distance' if near else 'another seed program'}"
                )
            case "no_valid_children":
                return self._invalid(last)
        return ""

    def _invalid(self, last: str) -> str:
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in self.children.most_common(4))
        said = f"; the last: {short(last).rstrip('.')}" if last else ""
        cure = "check the evaluator with `evolve problem check`, or try a larger model"
        if set(self.children) == {LOST}:
            cure = "no worker survived an evaluation: see its log and its memory, and try `evolve doctor` there"
        return f"all {self.children.total()} children failed ({outcomes}){said}: {cure}"

    def _refused(self) -> str:
        refused = {name: one for name, one in self.policies.items() if one.refusal}
        said = "; ".join(f"{name}: {short(one.refusal, 300).rstrip('.')}" for name, one in list(refused.items())[:4])
        often = "one proposal after another" if self.children else "every proposal"
        return f"the policy refused {often} ({said}): mend that, or try its settings with `evolve policy check`"

    def _unusable(self, denied: str) -> str:
        counts: Counter[str] = Counter()
        words: dict[str, str] = {}
        for one in self.policies.values():
            counts.update(one.counts)
            words |= one.words
        total = sum(one.unusable for one in self.policies.values())
        if not total and denied:
            return f"no answer came before the run reached its limit: {short(denied, 300).rstrip('.')}"
        if not total:
            return "no answer came before the run reached its limit: raise it, or ask for fewer answers a chain"
        (maximum, often), *_ = counts.most_common(1) or [("", 0)]
        return (
            f"{self._fruit(total)}; {times(often)}: {words.get(maximum, NO_ANSWER).rstrip('.')}. Try the policy"
            " on its own: `evolve policy check` shows what it writes"
        )

    def _fruit(self, total: int) -> str:
        if self.children:
            return f"none of the last {self.unreadable} answers could be used"
        return f"none of {total} answers could be used"

    def _yield(self, policy: str) -> PolicyYield:
        return self.policies.setdefault(policy, PolicyYield())

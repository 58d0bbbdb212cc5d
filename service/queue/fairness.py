"""How the slots of a pool are shared among those who have work for it."""

from collections.abc import Iterable, Mapping

# A submitter that uses up its share wants so much, and beyond it how much it uses.
WITHOUT_LIMIT = 1 << 20
# What such a submitter could use is not known before it has it. It counts for this, or for twice what it uses.
GREEDY_SLOTS = 32


def claim(uses: int, has: int) -> int:
    """What a submitter wants that had use for some slots lately, and has some at most."""
    return WITHOUT_LIMIT + uses if uses >= has else uses


def could_use(claims: Iterable[int]) -> int:
    """How many slots submitters could use now, together."""
    return sum(_could_use(wants) for wants in claims)


def _could_use(wants: int) -> int:
    return wants if wants < WITHOUT_LIMIT else max(GREEDY_SLOTS, 2 * (wants - WITHOUT_LIMIT))


def fair_share(slots: int, wants: Mapping[str, int], submitter: str) -> int:
    """The slots that are one submitter's own, by max-min fairness (Bertsekas and Gallager, Data Networks, 6.5.2).

    Those who want the least get what they want, as long as that is no more than an equal part of what is left; the
    others share the rest equally, what does not divide going to the first by name.

    Args:
        slots: of all active workers.
        wants: what each submitter with work wants at once.
        submitter: whose share is asked for; it is taken to want without limit, so that it may grow into its share.

    Returns:
        At least 1 where there are slots: with more submitters than slots, tasks wait, each submitter's for its turn.
    """
    if slots <= 0:
        return 0
    left, sharing = slots, {submitter, *wants}
    for name in sorted(sharing - {submitter}, key=lambda name: wants[name]):
        if wants[name] * len(sharing) > left:
            break
        left -= wants[name]
        sharing.remove(name)
    whole, rest = divmod(left, len(sharing))
    return max(1, whole + (sorted(sharing).index(submitter) < rest))

"""How the slots of a pool are shared among those who have work for it."""

from collections.abc import Iterable, Mapping

# A submitter that uses up its share wants so much, and beyond it how much it uses.
WITHOUT_LIMIT = 1 << 20
# What such a submitter could use is not known before it has it. It counts for this, or for twice what it uses.
GREEDY_SLOTS = 32
# A run has at least so many of its tasks wait, and beyond that one in so many of its share.
MIN_WAITING = 2
LOOKAHEAD = 8
# A pool is congested once a task has waited for so long: what its workers do meanwhile is in the queue.
CONGESTED_SECONDS = 2.0


def lookahead(share: int) -> int:
    """How many tasks a run may have beyond its share: a worker that is done finds its next task there."""
    return max(1, share // LOOKAHEAD)


def may_submit(share: int, submitted: int, waiting: int, oldest_seconds: float) -> bool:
    """Whether a run submits another task now.

    In a congested pool no slot is free for long: a run then has nothing beyond its share, and keeps few of its tasks
    waiting below it. So a run that comes late waits for the next free slots, and not for all that the others submitted
    before.

    Args:
        share: of the slots that are the run's own.
        submitted: how many tasks without a result it has in the queue, waiting and under way.
        waiting: how many of them no worker has taken, less those that were submitted for tasks that ended since.
        oldest_seconds: for how long the oldest task of the pool has waited.
    """
    if oldest_seconds < CONGESTED_SECONDS:
        return submitted < share + lookahead(share)
    return submitted < max(1, share) and waiting < max(MIN_WAITING, share // LOOKAHEAD)


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

"""How the slots of a pool are shared among those who have work for it."""

from collections.abc import Mapping


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

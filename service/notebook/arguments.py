"""What the arguments of `evolve.run` mean, and which of them are refused."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from evolve.events import Event
from evolve.ports import Policy
from service.errors import UsageError
from service.notebook.problem import Function
from service.policy_settings.roles import PolicyRoles, refuse_unread
from service.usecases.plan import RunPlan

Asked = str | Policy | Function
Watcher = Callable[[Event], object]


def policies_of(policy: Asked | Sequence[Asked] | None) -> tuple[list[str], list[Policy | Function]]:
    """The policies that the plan names, and those of the caller's own."""
    words: list[str] = []
    own: list[Policy | Function] = []
    several = isinstance(policy, Sequence) and not isinstance(policy, str)
    for one in cast("Sequence[Asked]", policy) if several else [] if policy is None else [policy]:
        if isinstance(one, str):
            words.append(one)
        elif callable(one) or hasattr(one, "propose"):
            own.append(cast("Policy | Function", one))
        else:
            what = type(one).__name__
            raise UsageError(f"policy is a {what}: give a name, a Policy, or a function that takes a prompt")
    return words, own


def check_advising(
    plan: RunPlan, own: Sequence[Policy | Function], *, critic: Function | None, advisor: Function | None
) -> None:
    """Refuse a critic or an advisor that is none, a second one, and one that nobody reads."""
    named = PolicyRoles.of(plan.policies)
    for role, function, other in (("critic", critic, named.critic), ("advisor", advisor, named.advisor)):
        if function is None:
            continue
        if not callable(function):
            raise UsageError(f"{role} is a {type(function).__name__}: give a function that takes a prompt")
        if other is not None:
            raise UsageError(f"{name_of(function)} and {other.name} both have the role {role}: a run takes one")
        if not own:
            refuse_unread(name_of(function), role, named)


def several(given: Any) -> Any:
    """One name or value alone is a list of one."""
    return given if given is None or (isinstance(given, Sequence) and not isinstance(given, str)) else (given,)


def name_of(function: Function) -> str:
    """The name of a function, as events tell it."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "function"

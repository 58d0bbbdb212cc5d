"""What the form that starts a run offers, and what it holds before anybody typed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from service.client import AsyncClient, calls
from service.dashboard.session import FormData
from service.dashboard.views.runs_filter import policy_name, write_labels
from service.dashboard.views.submit_fields import DEFAULTS, DESCRIBED, NO_LIMIT, ROLES, fields_of, flat
from service.dashboard.views.submit_problem import FIELDS, STARTER, STORED
from service.errors import NotFoundError
from service.schemas.problems import Problem
from service.schemas.runs import Run

MAX_CHOICES = 200
SHORT = "evaluations"  # for a key of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Problems, newest first, and policies that a run may name."""

    problems: Sequence[Problem]
    policies: Sequence[Mapping[str, Any]]

    @property
    def names(self) -> list[str]:
        """What the policies are called."""
        return [policy_name(policy) for policy in self.policies]

    @property
    def authors(self) -> list[str]:
        """Those that write programs, and so may be a run's only one."""
        return [policy_name(policy) for policy in self.policies if not policy.get("role")]

    @property
    def others(self) -> dict[str, list[str]]:
        """Those that do something else for who writes, by what they do."""
        return {
            role.name: [policy_name(one) for one in self.policies if one.get("role") == role.name] for role in ROLES
        }

    def first(self, problem: str = "") -> FormData:
        """The form before anything was typed, with a problem by its id or name."""
        named = [one for one in self.problems if problem in {one.id, one.name, f"{one.name}@{one.version}"}]
        chosen = (named or list(self.problems))[:1]
        source = STORED if chosen else FIELDS
        return form_with({**STARTER, "source": source, "problem": chosen[0].id if chosen else ""})


async def read_choices(api: AsyncClient) -> Choices:
    """Ask the service what there is."""
    problems = await api.send(calls.list_problems(limit=MAX_CHOICES))
    policies = await api.send(calls.list_policies(limit=MAX_CHOICES))
    return Choices(problems=problems.items, policies=policies.items)


def form_with(fields: Mapping[str, str]) -> FormData:
    """A form that holds these fields."""
    return FormData.read(urlencode(fields).encode())


async def cloned(api: AsyncClient, choices: Choices, run_id: str) -> FormData:
    """The form as it would have to be filled in to start a run once more.

    Raises:
        NotFoundError: no such run.
    """
    run = await api.send(calls.get_run(run_id))
    try:
        base = asked_for_nothing(await api.send(calls.get_problem(run.problem_id)))
    except NotFoundError:
        base = {}  # its problem is not stored any more: everything is said
    fields = {**STARTER, "source": STORED, "problem": run.problem_id, **labels_of(run)}
    return form_with(fields | fields_of(run.config, base) | policy_fields(run, choices))


def asked_for_nothing(problem: Problem) -> dict[str, Any]:
    """The configuration of a run of a problem that asks for nothing, by dotted keys."""
    said = flat(problem.document.get("search") or {})
    if SHORT in said:
        said[f"budget.{SHORT}"] = said.pop(SHORT)
    lifted = {key: None for key, value in said.items() if value == NO_LIMIT}
    return DEFAULTS | said | lifted


def labels_of(run: Run) -> dict[str, str]:
    """The labels of a run as fields."""
    others = {key: value for key, value in run.labels.items() if key != "name"}
    return {"run_name": run.labels.get("name", ""), "labels": write_labels(others)}


def policy_fields(run: Run, choices: Choices) -> dict[str, str]:
    """The policies of a run as fields: each by its name where the service has one called so, else as described."""
    if not run.policies:
        return {}
    fields, found = dict[str, str](), list[Any]()
    for one in run.policies:
        name, role = policy_name(one), str(one.get("role") or "")
        if name in choices.others.get(role, ()):
            fields[role] = name
        else:
            found.append(name if name in choices.names else one)
    if len(found) == 1 and isinstance(found[0], str):
        return {"policy": found[0], **fields}
    described = found[0] if len(found) == 1 else {"policies": found}
    return {"policy": DESCRIBED, "policy_text": json.dumps(described, indent=2, ensure_ascii=False), **fields}


async def with_chosen(api: AsyncClient, choices: Choices, form: FormData) -> Choices:
    """The choices, with the problem that a form names where it is not among the newest."""
    wanted = form.get("problem", "")
    if not wanted or any(one.id == wanted for one in choices.problems):
        return choices
    try:
        problem = await api.send(calls.get_problem(wanted))
    except NotFoundError:
        return choices
    return replace(choices, problems=[*choices.problems, problem])

"""A policy is checked with answers that are evaluated, and again at a lower temperature where none is of use."""

from dataclasses import replace
from pathlib import Path

import pytest

from service.errors import UsageError
from service.policy_settings.settings import PolicySettings
from service.ports import ModelDescription
from service.usecases.check_policies import LOW_TEMPERATURE, SLOTS, all_usable, check_policies
from service.usecases.plan import RunOrder
from tests.unit.usecases.conftest import Installation

ADDRESS = "http://10.0.0.5:8000/v1"


def ignore(policy: PolicySettings, form: str) -> None:
    """Nobody watches."""


@pytest.fixture
def order(folder: Path) -> RunOrder:
    return RunOrder(problem=folder, policies=[ADDRESS], model="small")


async def test_a_policy_whose_answers_are_valid_is_usable(installation: Installation, order: RunOrder) -> None:
    tried: list[str] = []
    (report,) = await check_policies(
        order, installation.policies, installation.evaluators, lambda _, form: tried.append(form)
    )
    assert report.usable
    assert report.best is not None
    assert report.best.valid == 2
    assert len(tried) == len(report.yields)
    assert {request.slots for request in installation.evaluators.requests} == {SLOTS}


async def test_nonsense_is_tried_again_at_a_lower_temperature(installation: Installation, order: RunOrder) -> None:
    installation.policies.max_temperature = 0.7
    (report,) = await check_policies(order, installation.policies, installation.evaluators, ignore)
    assert report.usable
    assert report.settings.temperature == LOW_TEMPERATURE
    assert [plan.policies[0].temperature for plan in installation.policies.plans] == [1.0, LOW_TEMPERATURE]


async def test_a_temperature_that_was_named_is_not_changed(installation: Installation, order: RunOrder) -> None:
    installation.policies.max_temperature = 0.0
    named = replace(order, params=("temperature=0.9",))
    reports = await check_policies(named, installation.policies, installation.evaluators, ignore)
    assert not all_usable(reports)
    assert len(installation.policies.plans) == 1


async def test_the_report_has_what_the_server_told_of_its_model(installation: Installation, order: RunOrder) -> None:
    (before,) = await check_policies(order, installation.policies, installation.evaluators, ignore)
    assert (before.model, before.tells_context) == ("small", False)
    found = ModelDescription(model="small-1", context_tokens=4096, tells_context=True, counts_tokens=True)
    name = installation.policies.plans[0].policies[0].name
    installation.policies.models = {name: found}
    (report,) = await check_policies(order, installation.policies, installation.evaluators, ignore)
    assert (report.model, report.context_tokens, report.tells_context) == ("small-1", 4096, True)


async def test_the_syntax_mutator_needs_no_check(installation: Installation, folder: Path) -> None:
    with pytest.raises(UsageError, match="asks no model"):
        await check_policies(RunOrder(problem=folder), installation.policies, installation.evaluators, ignore)
    assert installation.evaluators.requests == []

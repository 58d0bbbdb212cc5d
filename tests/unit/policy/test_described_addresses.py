"""What is said to those who describe a policy at an address that they may not name."""

import pytest

from service.config import PoliciesSettings
from service.errors import RefusedError
from service.policy_settings.choice import PolicyChoice, operator_policies

DESCRIBED = {"kind": "openai", "base_url": "http://models.example:8001/v1", "model": "m"}


def choice(**words: tuple[str, ...]) -> PolicyChoice:
    settings = PoliciesSettings(**words)
    return PolicyChoice(settings, operator_policies(settings), lambda *_: ["10.0.0.7"])


def test_who_names_a_private_address_hears_which_setting_permits_it() -> None:
    with pytest.raises(RefusedError, match=r"it is a private address; the operator permits .* policies\.allow$"):
        choice().asked(DESCRIBED)


def test_that_setting_permits_it() -> None:
    (policy,) = choice(allow=("models.example:8001",)).asked(DESCRIBED)
    assert policy.base_url == DESCRIBED["base_url"]

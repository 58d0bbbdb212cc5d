"""Prices and contexts of common models, and how a policy gets them where its user names none."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from service.errors import UsageError
from service.policy_settings import price_table
from service.policy_settings.price_table import FILE, find_model
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies

CLAUDE = {
    "input_cost_per_token": 3e-06,
    "cache_read_input_token_cost": 3e-07,
    "output_cost_per_token": 1.5e-05,
    "max_input_tokens": 200_000,
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of the test's own, with a table of its own."""
    (tmp_path / "litellm").mkdir()
    (tmp_path / "litellm" / "__init__.py").write_text("raise RuntimeError('nobody imports it')\n")
    models = {
        "claude-sonnet-4-5": CLAUDE,
        "groq/llama": {"input_cost_per_token": 0.0, "output_cost_per_token": 0},
        "broken": {"input_cost_per_token": "much", "output_cost_per_token": float("nan"), "max_input_tokens": -1},
    }
    (tmp_path / "litellm" / FILE).write_text(json.dumps(models))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "litellm", raising=False)
    price_table._table.cache_clear()
    yield tmp_path / "litellm" / FILE
    price_table._table.cache_clear()


def only(source: str, **values: object) -> PolicySettings:
    (policy,) = load_policies(source, **values)  # type: ignore[arg-type]  # each test gives what it means
    return policy


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    "name", ["claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "openai/responses/claude-sonnet-4-5"]
)
def test_a_model_is_found_by_each_of_its_names(name: str) -> None:
    known = find_model(name)
    assert known.price is not None
    assert (known.price.input, known.price.cached, known.price.output) == (Decimal(3), Decimal("0.3"), Decimal(15))
    assert (known.price.currency, known.context_tokens) == ("USD", 200_000)


@pytest.mark.usefixtures("table")
def test_what_is_no_price_is_none() -> None:
    assert find_model("broken") == find_model("unheard-of")
    assert find_model("broken").price is None


@pytest.mark.usefixtures("table")
def test_a_policy_has_the_price_of_its_model_unless_its_user_names_another(tmp_path: Path) -> None:
    assert only("litellm:anthropic/claude-sonnet-4-5").price == find_model("claude-sonnet-4-5").price
    named = only("anthropic:claude-sonnet-4-5")
    assert (named.price, named.context_tokens) == (find_model("claude-sonnet-4-5").price, 200_000)
    free = only("groq:llama").price
    assert free is not None
    assert free.output == 0
    file = tmp_path / "policy.toml"
    file.write_text(
        '[[policies]]\nprovider = "anthropic"\nmodel = "claude-sonnet-4-5"\ncontext_tokens = 9000\n'
        "price = { input = 1, output = 2 }\n"
    )
    own = only(str(file))
    assert own.price is not None
    assert (own.price.input, own.context_tokens) == (Decimal(1), 9000)
    file.write_text('[[policies]]\nbase_url = "http://localhost:8000"\nmodel = "claude-sonnet-4-5"\n')
    assert only(str(file)).price is None


def test_without_the_table_nothing_is_known(table: Path) -> None:
    table.write_text("no JSON")
    assert find_model("claude-sonnet-4-5").price is None
    assert only("anthropic:claude-sonnet-4-5").context_tokens == 16_384


def test_a_policy_behind_the_library_names_its_model() -> None:
    policy = only("litellm:bedrock/converse/us.amazon.nova-pro-v1:0")
    assert (policy.kind, policy.name, policy.base_url) == ("litellm", "bedrock", None)
    assert policy.place == "the provider of bedrock/converse/us.amazon.nova-pro-v1:0"
    with pytest.raises(UsageError, match="names no model"):
        load_policies("litellm:")
    with pytest.raises(UsageError, match="leave --model out"):
        load_policies("litellm:anthropic/x", model="y")
    with pytest.raises(ValueError, match="model is missing"):
        PolicySettings(kind="litellm")
    with pytest.raises(ValueError, match="provider has no meaning for a policy behind LiteLLM"):
        PolicySettings(kind="litellm", model="anthropic/x", provider="anthropic")

"""What `evolve run --server` says of policies: names are the service's, the rest is described without a key."""

from pathlib import Path

import pytest

from service.cli.run_options import PolicyWords
from service.cli.submit import _policy
from service.errors import UsageError
from tests.unit.cli.test_run import options


def file(folder: Path, *tables: str) -> str:
    path = folder / "policies.toml"
    path.write_text("".join(f"[[policies]]\n{table}\n" for table in tables))
    return str(path)


def test_one_policy_is_a_name_or_a_description(tmp_path: Path) -> None:
    assert _policy(options()) == {}
    assert _policy(options(asked=PolicyWords(("own",)))) == {"policy": "own"}
    described = {"name": "m", "base_url": "http://h:8000/v1", "model": "m"}
    assert _policy(options(asked=PolicyWords(("http://h:8000",), "m"))) == {"policy": described}


def test_several_are_a_list_of_both(tmp_path: Path) -> None:
    words = ("http://h:8000", "own", file(tmp_path, 'kind = "syntax"\nname = "s"', 'kind = "syntax"\nweight = 2.5'))
    assert _policy(options(asked=PolicyWords(tuple(words)))) == {
        "policy": [
            "own",
            {"name": "h:8000", "base_url": "http://h:8000/v1"},
            {"name": "s", "kind": "syntax"},
            {"kind": "syntax", "weight": 2.5},
        ]
    }


@pytest.mark.parametrize(
    ("words", "model", "said"),
    [
        ((), "m", "--model needs a policy"),
        (("own",), "m", "the policy own of the service has its own model"),
        (("http://h:1", "http://h:2"), "m", "--model is for a single policy"),
        (("http://h:1", "http://h:1"), None, "two policies of the run are called h:1"),
    ],
)
def test_what_does_not_go_together_is_refused(words: tuple[str, ...], model: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _policy(options(asked=PolicyWords(words, model)))


def test_a_key_is_the_services_own(tmp_path: Path) -> None:
    keyed = file(tmp_path, 'base_url = "http://h/v1"\napi_key_env = "K"')
    with pytest.raises(UsageError, match="the service holds the keys"):
        _policy(options(asked=PolicyWords(("own", keyed))))

from pathlib import Path

import pytest

from service.config import known_keys, load_settings, redacted
from service.errors import UsageError
from service.user_folders import data_home


def url(path: Path | None = None, secrets: Path = Path("/nonexistent")) -> str:
    return load_settings(path, secrets).database.url.get_secret_value()


def test_nothing_set_means_a_file_in_the_users_data_folder(home: Path) -> None:
    assert url() == f"sqlite:///{home / 'data' / 'evolve' / 'evolve.db'}"


def test_a_relative_xdg_folder_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(home))
    assert data_home() == home / ".local" / "share"


def test_environment_before_secrets_before_the_users_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "config" / "evolve" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[database]\nurl = "sqlite:///file.db"\n')
    assert url() == "sqlite:///file.db"
    secrets = home / "secrets"
    secrets.mkdir()
    (secrets / "evolve_database__url").write_text("sqlite:///secret.db\n")
    assert url(secrets=secrets) == "sqlite:///secret.db"
    monkeypatch.setenv("EVOLVE_DATABASE__URL", "sqlite:///environment.db")
    assert url(secrets=secrets) == "sqlite:///environment.db"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[database]\nurll = 'x'\n", "database.url"),
        ("[sandbox]\nrequire = 'iron'\n", "'strong'"),
        ("database = 3\n", "database"),
        ("not toml", "cannot be read"),
        ("[nonsense]\nx = 1\n", "unknown"),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_it(tmp_path: Path, text: str, word: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=word) as caught:
        load_settings(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("EVOLVE_DATABASE__URLL", "x"), ("EVOLVE_SANDBOX__REQUIRE", "iron"), ("EVOLVE_DATABASE", "{")],
)
def test_a_wrong_variable_is_named(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=name.rpartition("__")[0] or "database"):
        load_settings()


def test_variables_of_other_parts_are_let_be(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOLVE_POLICY_API_KEY", "k")
    monkeypatch.setenv("EVOLVE_DEBUG", "1")
    assert url().startswith("sqlite:///")


def test_a_url_is_never_shown_with_its_password(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOLVE_DATABASE__URL", "postgresql://me:hunter2@host:5432/evolve")
    assert "hunter2" not in repr(load_settings())
    assert redacted("postgresql://me:hunter2@host:5432/evolve") == "postgresql://me:***@host:5432/evolve"
    assert redacted("sqlite:////tmp/a:b@c.db") == "sqlite:////tmp/a:b@c.db"


def test_known_keys_are_those_of_the_settings(home: Path) -> None:
    settings = load_settings()
    groups = {key.partition(".")[0] for key in known_keys()}
    assert groups == set(type(settings).model_fields)


@pytest.mark.parametrize("text", ["vllm:8000, https://gpu.example/v1 ,", '["vllm:8000", "https://gpu.example/v1"]'])
def test_a_list_is_separated_by_commas_or_json(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("EVOLVE_POLICIES__ALLOW", text)
    monkeypatch.setenv("EVOLVE_SANDBOX__INTERPRETERS", "")
    assert load_settings().policies.allow == ("vllm:8000", "https://gpu.example/v1")
    assert load_settings().sandbox.interpreters == ()


@pytest.mark.parametrize("text", ["vllm:port", "[1", "ftp://gpu", "http://u:pw@gpu"])
def test_a_list_of_what_is_no_address_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("EVOLVE_POLICIES__ALLOW", text)
    with pytest.raises(UsageError, match=r"policies\.allow") as caught:
        load_settings()
    assert "pw" not in str(caught.value)

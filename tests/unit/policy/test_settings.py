import json
from pathlib import Path
from typing import Any

import pytest

from evolve.proposal import Usage
from service.errors import NotFoundError, UsageError
from service.policy_settings import shipped
from service.policy_settings.forms import open_forms
from service.policy_settings.roles import read_policies
from service.policy_settings.settings import DEFAULT_KEY_ENV, DEFAULT_KEY_FILE_ENV, PolicySettings
from service.policy_settings.sources import load_policies, read_policy

SECRET = "sk-very-secret-0123456789"


def write(folder: Path, text: str) -> str:
    path = folder / "policies.toml"
    path.write_text(text)
    return str(path)


def complaint(source: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_policies(source)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_word_syntax_names_the_mutator() -> None:
    (policy,) = load_policies("syntax", answers=3)
    assert policy.describe() == {"name": "syntax", "kind": "syntax", "answers": 3}


@pytest.mark.parametrize(
    ("source", "base_url"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("https://models.example/openai/v1/", "https://models.example/openai/v1"),
        ("HTTP://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_an_address_names_a_server(source: str, base_url: str) -> None:
    (policy,) = load_policies(source, model="vpo", answers=3, samples=5)
    assert (policy.kind, policy.base_url, policy.model) == ("openai", base_url, "vpo")
    assert (policy.answers, policy.samples) == (3, 5)


@pytest.mark.parametrize(
    "source",
    [
        "http://",
        "http://user:pw@host/v1",
        "http://host/v1?key=1",
        "http://host:99999999/v1",
        "http://[::1",
        "ftp://host/v1",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(source: str) -> None:
    said = complaint(source)
    assert "pw" not in said
    assert said.startswith("--policy")


def test_an_address_of_another_kind_is_shown_as_it_was_written() -> None:
    assert (
        complaint("ftp://host") == "--policy ftp://host: base_url: must be an address such as http://localhost:8000/v1"
    )


def test_a_file_holds_several(tmp_path: Path) -> None:
    text = """
    [[policies]]
    name = "vpo"
    kind = "openai"
    base_url = "http://localhost:8000/v1"
    model = "vpo-policy"
    api_key_env = "VLLM_API_KEY"
    format = "tags:response"
    edits = "diff"
    answers = 8
    samples = 2
    temperature = 0.7
    top_p = 0.9
    max_tokens = 1000
    concurrency = 4
    timeout_seconds = 30
    [[policies]]
    name = "base"
    kind = "syntax"
    """
    vpo, base = load_policies(write(tmp_path, text))
    assert (vpo.format, vpo.edits, vpo.answers, vpo.timeout_seconds) == ("tags:response", "diff", 8, 30.0)
    assert base.kind == "syntax"
    assert PolicySettings.model_validate(vpo.describe()).describe() == vpo.describe()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("temprature = 1.0", "nearest known one is temperature"),
        (f'api_key = "{SECRET}"', "api_key_env or api_key_file"),
        ("weight = 0", "weight"),
        ("weight = inf", "weight"),
        ('role = "reviewer"', "role: input should be 'author', 'critic', 'advisor', 'embedder' or 'analyst'"),
        ('role = "critic"\nanswers = 2', "answers has no meaning for a critic: leave it out"),
        ('role = "critic"\nweight = 1.0', "weight has no meaning for a critic: leave it out"),
        ('role = "critic"\nformat = "fences"', "format has no meaning for a critic: leave it out"),
        ('role = "embedder"\nmax_tokens = 5', "max_tokens has no meaning for an embedder: leave it out"),
        ('format = "xml"', "choose tags:NAME, fences or single"),
        ('format = "tags:"', "tag name"),
        ('format = "single"\nanswers = 2', "set answers = 1"),
        ("temperature = 3.0", "temperature"),
        ("temperature = nan", "temperature"),
        ("answers = 0", "answers"),
        ('answers = "many"', "answers"),
        ("max_tokens = 1e400", "max_tokens"),
        ('kind = "other"', "kind"),
        ('kind = "syntax"', "has no meaning"),
        ('model = "a\\u0000b"', "control characters"),
        ('api_key_env = "A"\napi_key_file = "b"', "not both"),
    ],
)
def test_a_key_or_value_that_is_off_is_named(tmp_path: Path, line: str, said: str) -> None:
    text = complaint(write(tmp_path, f'[[policies]]\nname = "x"\nbase_url = "http://h/v1"\n{line}\n'))
    assert said in text
    assert SECRET not in text


@pytest.mark.parametrize("kind", [{"kind": "syntax"}, {"kind": "bundled", "model": "maze-vpo"}])
@pytest.mark.parametrize("role", ["critic", "embedder"])
def test_what_writes_programs_alone_does_nothing_else(kind: dict[str, str], role: str) -> None:
    with pytest.raises(UsageError, match=r"writes programs alone: .* of the kind openai"):
        read_policy({**kind, "role": role}, "here")


def test_a_role_is_described_where_it_is_not_that_of_an_author(tmp_path: Path) -> None:
    text = '[[policies]]\nname = "judge"\nbase_url = "http://h/v1"\nrole = "critic"\ntemperature = 0.2\n'
    (critic,) = load_policies(write(tmp_path, text))
    described = critic.describe()
    assert described["role"] == "critic"
    assert not {"answers", "samples", "format", "edits", "weight"} & described.keys()
    assert PolicySettings.model_validate(described).describe() == described
    assert "role" not in load_policies("http://h/v1")[0].describe()


@pytest.mark.parametrize("line", ["samples = 3", 'model = "m"', "temperature = 0.5"])
def test_the_mutator_takes_no_key_that_would_not_act(tmp_path: Path, line: str) -> None:
    key = line.partition(" ")[0]
    said = complaint(write(tmp_path, f'[[policies]]\nkind = "syntax"\nanswers = 3\n{line}\n'))
    assert f"{key} has no meaning for the syntax mutator: leave it out" in said


def test_a_single_answer_needs_no_number(tmp_path: Path) -> None:
    (policy,) = load_policies(write(tmp_path, '[[policies]]\nbase_url = "http://h/v1"\nformat = "single"\n'))
    assert policy.answers == 1


@pytest.mark.parametrize(
    "text", ["", "policies = 3", "[[policies]]", "policies = []", "x = 1", "[[policies", 'policies = ["a"]', "\x00"]
)
def test_a_file_that_names_no_policy_is_refused(tmp_path: Path, text: str) -> None:
    assert "polic" in complaint(write(tmp_path, text))


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    one = '[[policies]]\nbase_url = "http://h/v1"\n'
    assert "give each its own name" in complaint(write(tmp_path, one + one))


def test_the_policies_of_several_words_go_together(tmp_path: Path) -> None:
    file = write(tmp_path, '[[policies]]\nname = "own"\nbase_url = "http://h/v1"\nweight = 2.5\n')
    found = read_policies(["syntax", "http://[::1]:8000", "https://h.example", file])
    assert [(policy.name, policy.weight) for policy in found] == [
        ("syntax", 1.0), ("::1:8000", 1.0), ("h.example", 1.0), ("own", 2.5),
    ]  # fmt: skip
    described = [policy.describe() for policy in found]
    assert [PolicySettings.model_validate(one).describe() for one in described] == described


@pytest.mark.parametrize(
    ("text", "model", "names"),
    [
        (None, None, ["h:1"]),
        (None, "org/small-7b", ["org/small-7b"]),
        (None, "a model", ["amodel"]),
        ('[[policies]]\nbase_url = "http://h/v1"\nmodel = "big"\n', None, ["big"]),
    ],
)
def test_a_server_without_a_name_is_called_by_its_model_or_host(
    tmp_path: Path, text: str | None, model: str | None, names: list[str]
) -> None:
    word = "http://h:1" if text is None else write(tmp_path, text)
    assert [policy.name for policy in read_policies([word], model=model)] == names


def test_servers_of_one_model_are_called_by_their_hosts(tmp_path: Path) -> None:
    files = [tmp_path / f"{host}.toml" for host in ("g", "h")]
    for file in files:
        file.write_text(f'[[policies]]\nbase_url = "http://{file.stem}/v1"\nmodel = "big"\n')
    assert [policy.name for policy in read_policies([str(file) for file in files])] == ["g", "h"]


@pytest.mark.parametrize(
    ("words", "model", "said"),
    [
        (["http://h:1", "http://h:1"], None, "two policies of the run are called h:1"),
        (["syntax", "http://h:1"], "m", "--model is for a single policy"),
        ([f"http://h:{port}" for port in range(1, 18)], None, "16 policies at most, and 17 are named"),
    ],
)
def test_policies_that_do_not_go_together_are_refused(words: list[str], model: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_policies(words, model=model)


def test_a_word_that_is_no_file_is_explained(tmp_path: Path) -> None:
    said = "neither syntax nor tuner, nor bundled: and a model, nor a provider and a model"
    with pytest.raises(NotFoundError, match=said):
        load_policies(str(tmp_path / "absent.toml"))


def test_a_folder_is_no_policy_file(tmp_path: Path) -> None:
    assert "cannot be read" in complaint(str(tmp_path))


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of shipped models with two in it, one with defaults of its own."""
    for name in ("maze-base", "maze-vpo"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")
    (tmp_path / "models" / "maze-vpo" / "evolve.toml").write_text('format = "tags:route"\nanswers = 2\ntop_p = 0.5\n')
    monkeypatch.setattr(shipped, "_places", lambda: [tmp_path / "models"])
    return tmp_path / "models"


@pytest.mark.usefixtures("models")
def test_a_shipped_model_is_named_and_brings_its_defaults() -> None:
    (base,), (vpo,) = load_policies("bundled:maze-base"), load_policies("bundled:maze-vpo", answers=3, samples=5)
    assert base.describe() == {
        "name": "bundled:maze-base", "kind": "bundled", "model": "maze-base", "format": "tags:answer", "answers": 4,
        "samples": 2, "temperature": 1.0, "top_p": 1.0, "max_tokens": 4096, "concurrency": 1,
    }  # fmt: skip
    assert (vpo.name, vpo.format, vpo.answers, vpo.samples, vpo.top_p) == ("bundled:maze-vpo", "tags:route", 3, 5, 0.5)
    assert PolicySettings.model_validate(vpo.describe()).describe() == vpo.describe()
    with pytest.raises(NotFoundError, match="choose one of maze-base, maze-vpo, or name a folder with a /"):
        load_policies("bundled:maze")


def test_a_folder_is_named_by_its_path_from_anywhere(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    (policy,) = load_policies("bundled:./maze-vpo")
    assert (policy.name, policy.model, policy.answers) == ("bundled:maze-vpo", str(models / "maze-vpo"), 2)
    (policy,) = load_policies(
        write(models, f'[[policies]]\nkind = "bundled"\nmodel = "{models}/maze-vpo"\nanswers = 7\n')
    )
    assert (policy.name, policy.model, policy.answers) == ("bundled:maze-vpo", str(models / "maze-vpo"), 7)
    with pytest.raises(NotFoundError, match="is not a folder"):
        load_policies("bundled:./maze")


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('base_url = "http://h/v1"', "base_url has no meaning for a bundled policy"),
        ("timeout_seconds = 3", "timeout_seconds has no meaning"),
        ("context_tokens = 512", "context_tokens has no meaning"),
        ('edits = "diff"', "edits has no meaning"),
        ("temperature = 3", "temperature"),
        ('model = ""', "model is missing"),
        ('model = "a\\u0000b"', "control characters"),
        ("model = 3", "model"),
    ],
)
def test_a_key_of_a_bundled_policy_that_is_off_is_named(tmp_path: Path, line: str, said: str) -> None:
    named = "" if line.startswith("model") else 'model = "maze-vpo"\n'
    assert said in complaint(write(tmp_path, f'[[policies]]\nkind = "bundled"\n{named}{line}\n'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("answrs = 3", "the unknown key answrs: it may hold format, answers"),
        ("name = 'x'", "the unknown key name"),
        ("answers = 0", "answers"),
        ("answers =", "cannot be read"),
        ("# " + "x" * 70_000, "too long"),
    ],
)
def test_defaults_of_a_folder_that_are_off_are_named(models: Path, text: str, said: str) -> None:
    (models / "maze-vpo" / "evolve.toml").write_text(text)
    assert said in complaint("bundled:maze-vpo")


@pytest.mark.usefixtures("models")
def test_a_bundled_policy_has_one_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave --model out"):
        load_policies("bundled:maze-vpo", model="maze-base")
    assert "names no model: choose one of maze-base, maze-vpo" in complaint("bundled:")
    (policy,) = load_policies(
        write(tmp_path, '[[policies]]\nkind = "bundled"\nmodel = "maze-vpo"\n'), model="maze-base"
    )
    assert policy.model == "maze-base"


def openai(**changes: str) -> PolicySettings:
    return PolicySettings.model_validate({"base_url": "http://h/v1", **changes})


def test_the_key_is_read_from_the_variable_named() -> None:
    key = openai(api_key_env="MY_KEY").read_key({"MY_KEY": f" {SECRET}\n"})
    assert key is not None
    assert key.get_secret_value() == SECRET
    assert SECRET not in repr(key)


def test_the_key_is_read_from_the_file_named(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(SECRET + "\n")
    for settings, environment in [
        (openai(api_key_file=str(path)), {}),
        (openai(), {DEFAULT_KEY_FILE_ENV: str(path), DEFAULT_KEY_ENV: "other"}),
    ]:
        key = settings.read_key(environment)
        assert key is not None
        assert key.get_secret_value() == SECRET


def test_without_a_name_the_default_variable_serves_and_may_be_absent() -> None:
    key = openai().read_key({DEFAULT_KEY_ENV: SECRET})
    assert key is not None
    assert openai().read_key({"OPENAI_API_KEY": SECRET}) is None


@pytest.mark.parametrize("value", ["", "  ", "two words", "line\nbreak", "k\u00e9y", "x" * 9000])
def test_a_variable_without_a_usable_key_is_named_and_not_quoted(value: str) -> None:
    with pytest.raises(UsageError, match="MY_KEY holds no key") as caught:
        openai(api_key_env="MY_KEY").read_key({"MY_KEY": value})
    assert not value.strip() or value not in str(caught.value)


def test_a_variable_that_is_named_and_not_set_is_an_error() -> None:
    with pytest.raises(UsageError, match="MY_KEY"):
        openai(api_key_env="MY_KEY").read_key({})


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        openai(api_key_file=str(path)).read_key({})


PRICED = """
[[policies]]
name = "vpo"
base_url = "http://localhost:8000/v1"
price = {}
"""


def test_a_price_is_read_exactly_and_stored_as_text(tmp_path: Path) -> None:
    (policy,) = load_policies(write(tmp_path, PRICED.format('{ input = "0.15", cached = 0.075, output = "0.60" }')))
    assert policy.currency == "USD"
    stored = policy.describe()
    assert stored["price"] == {"input": "0.15", "cached": "0.075", "output": "0.6", "currency": "USD"}
    again = PolicySettings.model_validate(json.loads(json.dumps(stored)))
    cost = again.cost(Usage(input=1000, cached=400, output=50))
    assert str(cost) == "0.00015 USD"


def test_tokens_from_a_cache_cost_what_others_do_where_nothing_is_said(tmp_path: Path) -> None:
    (policy,) = load_policies(write(tmp_path, PRICED.format('{ input = "2", output = "3", currency = "EUR" }')))
    assert str(policy.cost(Usage(input=1_000_000, cached=999_999, output=0))) == "2 EUR"


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ('{ input = "-1", output = "1" }', "price.input: '-1' is not an amount"),
        ('{ input = "free", output = "1" }', "price.input: 'free' is not an amount"),
        ('{ input = nan, output = "1" }', "price.input: 'nan' is not an amount"),
        ('{ input = "1" }', "price.output: field required"),
        ('{ input = "1", output = "1", currency = "dollars" }', "price.currency: 'dollars' is not a currency"),
        ('{ input = "1", outputs = "1", output = "2" }', "price.outputs is unknown: the nearest known one is output"),
        ('"1"', "price: "),
    ],
)
def test_a_price_that_is_none_is_refused(tmp_path: Path, price: str, said: str) -> None:
    assert said in complaint(write(tmp_path, PRICED.format(price)))


def test_what_runs_in_this_process_costs_nothing_and_what_has_no_price_is_not_known() -> None:
    (syntax,) = load_policies("syntax")
    assert (syntax.currency, str(syntax.cost(Usage(input=5, output=5)))) == ("", "0")
    (server,) = load_policies("http://localhost:8000")
    assert (server.currency, server.cost(Usage(input=5, output=5))) == (None, None)
    assert "price" not in server.describe()


def test_the_syntax_mutator_has_no_price(tmp_path: Path) -> None:
    text = '[[policies]]\nname = "s"\nkind = "syntax"\nprice = { input = "1", output = "1" }\n'
    assert "price has no meaning for the syntax mutator" in complaint(write(tmp_path, text))


@pytest.mark.parametrize(
    ("named", "left"),
    [
        ({}, ("edits", "answers")),
        ({"edits": "diff"}, ("answers",)),
        ({"answers": 2}, ("edits",)),
        ({"edits": "diff", "answers": 2}, ()),
        ({"format": "tags:response"}, ()),
        ({"format": "tags:response", "adapt": ["edits"]}, ("edits",)),
        ({"adapt": []}, ()),
    ],
)
def test_what_a_policy_file_names_is_not_varied(named: dict[str, Any], left: tuple[str, ...]) -> None:
    policy = read_policy({"base_url": "http://h/v1", **named}, "here")
    assert policy.adaptable == left
    assert read_policy(policy.describe(), "a record").adaptable == left


def test_the_forms_of_a_policy_bring_about_as_many_answers_each() -> None:
    forms = open_forms(read_policy({"base_url": "http://h/v1", "samples": 3}, "here"))
    assert [(form.format, form.edits, form.answers, form.samples) for form in forms] == [
        ("tags:answer", "rewrite", 4, 3), ("single", "rewrite", 1, 12),
        ("tags:answer", "diff", 4, 3), ("single", "diff", 1, 12),
    ]  # fmt: skip
    cold = open_forms(read_policy({"base_url": "http://h/v1", "temperature": 0.0}, "here"))
    assert {form.samples for form in cold} == {1}
    assert len(open_forms(read_policy({"base_url": "http://h/v1", "adapt": []}, "here"))) == 1


def test_a_server_that_continues_replies_may_be_asked_to_where_forms_are_open() -> None:
    def names(**settings: Any) -> list[str]:
        policy = read_policy({"base_url": "http://h/v1", **settings}, "here")
        return [form.name for form in open_forms(policy, continues=True)]

    assert names()[-1] == "continue:1"
    assert names(answers=1)[-1] == "continue:1"
    assert "continue:1" not in names(answers=4) + names(edits="diff") + names(adapt=[])
    assert names(edits="continue") == ["continue:1"]


@pytest.mark.parametrize("wrong", [{"answers": 4}, {"format": "tags:answer"}, {"kind": "litellm", "model": "a/b"}])
def test_a_reply_is_continued_alone_and_by_a_server_of_its_protocol(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"edits continue needs|single gives one answer"):
        read_policy({"base_url": "http://h/v1", "edits": "continue", **wrong}, "here")


def test_a_provider_fills_the_address_and_the_variable_of_its_key() -> None:
    (policy,) = load_policies("openrouter:qwen/qwen3-8b")
    assert (policy.base_url, policy.model) == ("https://openrouter.ai/api/v1", "qwen/qwen3-8b")
    key = policy.read_key({"OPENROUTER_API_KEY": "sk-usual", "EVOLVE_POLICY_API_KEY": "sk-ours"})
    assert key is not None
    assert key.get_secret_value() == "sk-usual"


def test_a_policy_without_a_provider_reads_no_key_of_one() -> None:
    policy = PolicySettings(base_url="https://openrouter.ai/api/v1")
    assert policy.read_key({"OPENROUTER_API_KEY": "sk-usual"}) is None


def test_an_unknown_provider_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="provider: is not known: name one of anthropic"):
        read_policy({"provider": "nobody"}, "the policy")

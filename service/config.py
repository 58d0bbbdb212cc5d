"""Settings of this installation: where runs are stored and evaluated, and what the sandbox must hold; passed in."""

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NestedSecretsSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from service.errors import UsageError
from service.net import check_entry
from service.user_folders import config_file, data_home

Level = Literal["none", "weak", "medium", "strong"]

SECRETS_DIR = Path("/run/secrets")
PREFIX = "EVOLVE_"
# Variables beside the settings that are called like one of their groups.
SHORT = frozenset({"evolve_server"})


def default_database() -> SecretStr:
    """A SQLite file in the user's data folder."""
    return SecretStr(f"sqlite:///{data_home() / 'evolve' / 'evolve.db'}")


class DatabaseSettings(BaseModel):
    """Where runs are stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr = Field(
        default_factory=default_database, description="SQLAlchemy URL: sqlite:///FILE or postgresql://..."
    )


def _entries(value: Any) -> Any:
    """A list as a variable of the environment holds it: separated by commas, or as JSON."""
    if not isinstance(value, str):
        return value
    if not value.strip().startswith("["):
        return [entry for part in value.split(",") if (entry := part.strip())]
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError("must be a list, such as first,second") from error


def _front(text: str) -> str:
    """An address that people can follow, or none."""
    if text and not (text.startswith(("http://", "https://")) and urlsplit(text).hostname):
        raise ValueError("must be an address such as https://evolve.example")
    return text


def _origin(text: str) -> str:
    """What browsers send as the origin of a page."""
    place = urlsplit(text)
    if place.scheme not in ("http", "https") or not place.hostname or text != f"{place.scheme}://{place.netloc}":
        raise ValueError("is not an origin: give scheme and host alone, such as https://lab.example")
    return text


class SandboxSettings(BaseModel):
    """What candidates may run under."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    require: Level | None = Field(
        default=None,
        description="Weakest isolation under which programs run; unnamed: weak for one's own runs, medium for others'",
    )
    network: bool = Field(default=False, description="Whether a problem may give its programs the network")
    gpu: bool = Field(default=False, description="Whether a problem may give its programs the accelerator")
    devices: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Accelerators that evaluations may have, by number, name or UUID; none: all"
    )
    interpreters: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Interpreters that problems submitted over the API may name in evaluator.python"
    )
    images: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Images that problems of others may name in evaluator.image; * stands for any text"
    )
    container_runtime: Literal["podman", "docker"] | None = Field(
        default=None, description="What runs the containers of evaluator.image; unnamed: whichever answers"
    )
    read: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Files and folders that every program may read, and that problems of others may name"
    )
    path: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Folders of programs, likewise, which stand first on PATH inside the sandbox"
    )
    environments: bool = Field(
        default=False,
        description="Whether requirements.txt of any problem is installed without a question, outside of the sandbox",
    )
    max_wall_seconds: int = Field(default=86400, ge=1, description="Most time that a problem may give an evaluation")
    max_cpu_seconds: int = Field(
        default=16 * 86400, ge=1, description="Most processor time of an evaluation, of all cores together"
    )
    max_memory_mb: int = Field(default=16384, ge=1, description="Most memory of an evaluation, in megabytes")
    max_processes: int = Field(default=1024, ge=1, description="Most processes and threads of an evaluation")
    max_disk_mb: int = Field(default=4096, ge=1, description="Most files of an evaluation, in megabytes")
    max_output_kb: int = Field(default=65536, ge=1, description="Most output of an evaluation, in kilobytes")
    max_repeats: int = Field(default=100, ge=1, description="Most times that a problem may have a program scored")

    @property
    def own(self) -> Level:
        """What a run of one's own requires."""
        return self.require or "weak"

    def for_others(self) -> "SandboxSettings":
        """What a worker and a service require, which run what others wrote."""
        return self if self.require else self.model_copy(update={"require": "medium"})


class QueueSettings(BaseModel):
    """Where evaluations wait for workers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr | None = Field(
        default=None, description="Redis that evaluations go through: redis://HOST:6379/0; none: this process evaluates"
    )


class ApiSettings(BaseModel):
    """How the API serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    secret: SecretStr | None = Field(
        default=None, description="At least 32 characters that nobody else knows: keys hold as long as it does"
    )
    public_url: Annotated[str, AfterValidator(_front)] = Field(
        default="", description="Where people reach the service, for links: https://evolve.example"
    )
    body_limit_mb: int = Field(
        default=96, ge=1, le=1024, description="Largest body of a request, and of all large ones at once, in megabytes"
    )
    threads: int = Field(default=8, ge=1, le=40, description="Requests at once that read or write the database")
    requests_per_minute: int = Field(default=1200, ge=1, description="Requests a minute of one key")
    streams: int = Field(default=64, ge=1, description="Streams of events and waits that one key may have open at once")
    all_streams: int = Field(default=2048, ge=1, description="Streams of events and waits that one process has open")
    cors_origins: Annotated[
        tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_entries)
    ] = Field(default=(), description="Origins whose pages may call the API from a browser: https://lab.example")
    head_seconds: float = Field(
        default=20.0, gt=0, le=3600, description="How long the head of a request may take to arrive, in seconds"
    )
    body_seconds: float = Field(
        default=600.0, gt=0, le=86400, description="How long the body of a request may take to arrive, in seconds"
    )
    unaudited: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(
            "lease_evaluation",
            "renew_evaluation",
            "complete_evaluation",
            "release_evaluation",
            "heartbeat_worker",
        ),
        description="Operations that leave no line in the audit log: those of workers",
    )


class PoliciesSettings(BaseModel):
    """Which policies runs submitted over the API may ask."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = Field(
        default=None, description="Policy file of the operator: runs name its policies, and only these have keys"
    )
    allow: Annotated[tuple[Annotated[str, AfterValidator(check_entry)], ...], NoDecode, BeforeValidator(_entries)] = (
        Field(default=(), description="Hosts, HOST:PORT or beginnings of URLs that described policies may have")
    )
    private: bool = Field(default=False, description="Whether described policies may have private addresses")


class ExtensionsSettings(BaseModel):
    """Which extensions runs submitted over the API may use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Extensions that runs submitted over the API may name, as a configuration names them"
    )


class TrainingSettings(BaseModel):
    """What trains versions of policies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backends: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Back ends of training jobs beside those of Evolve: entry points, or module:Class"
    )


class WebhooksSettings(BaseModel):
    """Where webhooks may lead."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    private: bool = Field(default=False, description="Whether webhooks may have private addresses")


class RetentionSettings(BaseModel):
    """How long `evolve db prune` keeps what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: int | None = Field(default=None, ge=1, le=36500, description="Days that a run is kept after its end")
    audit_days: int | None = Field(default=None, ge=1, le=36500, description="Days that the audit log is kept")


class RunnerSettings(BaseModel):
    """How a runner drives."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: int = Field(default=16, ge=1, le=256, description="Runs that one runner drives at once")


class TrackingSettings(BaseModel):
    """Where the runs of this installation are followed beside it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trackers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_entries)] = Field(
        default=(), description="Trackers that every run driven here is sent to, each NAME:TARGET as --track takes it"
    )


class ServerSettings(BaseModel):
    """The service that commands speak to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(
        default="", description="Service whose runs commands start and show; empty: yours on this machine, else none"
    )
    key_file: Path | None = Field(default=None, description="File with a key of that service")


GROUPS: dict[str, type[BaseModel]] = {
    "database": DatabaseSettings,
    "sandbox": SandboxSettings,
    "queue": QueueSettings,
    "api": ApiSettings,
    "policies": PoliciesSettings,
    "extensions": ExtensionsSettings,
    "training": TrainingSettings,
    "webhooks": WebhooksSettings,
    "retention": RetentionSettings,
    "runner": RunnerSettings,
    "tracking": TrackingSettings,
    "server": ServerSettings,
}


class Settings(BaseSettings):
    """All settings; first hit wins: a flag, `EVOLVE_DATABASE__URL` and the like, a secrets file, the user's file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, secrets_dir_missing="ok"
    )

    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    queue: QueueSettings = Field(default_factory=QueueSettings)
    api: ApiSettings = Field(default_factory=ApiSettings)
    policies: PoliciesSettings = Field(default_factory=PoliciesSettings)
    extensions: ExtensionsSettings = Field(default_factory=ExtensionsSettings)
    training: TrainingSettings = Field(default_factory=TrainingSettings)
    webhooks: WebhooksSettings = Field(default_factory=WebhooksSettings)
    retention: RetentionSettings = Field(default_factory=RetentionSettings)
    runner: RunnerSettings = Field(default_factory=RunnerSettings)
    tracking: TrackingSettings = Field(default_factory=TrackingSettings)
    server: ServerSettings = Field(default_factory=ServerSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the base class fixes the signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - a .env file of some project is not ours to read
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment, then secrets files; the user's file comes in as the weakest of all."""
        if isinstance(env_settings, EnvSettingsSource):  # EVOLVE_SERVER is an address, and no group of settings
            env_settings.env_vars = {name: value for name, value in env_settings.env_vars.items() if name not in SHORT}
        return env_settings, NestedSecretsSettingsSource(file_secret_settings), init_settings


def load_settings(path: Path | None = None, secrets_dir: Path = SECRETS_DIR) -> Settings:
    """Read the settings of this installation.

    Args:
        path: the user's file; the one of the XDG rules when None. It may be absent.
        secrets_dir: folder of files named like `evolve_database__url`; it may be absent.

    Raises:
        UsageError: a value or a key is off; the text names it and what would be right.
    """
    _refuse_unknown_variables()
    path = path or config_file()
    values = _read(path)
    try:
        return Settings(_secrets_dir=secrets_dir if secrets_dir.is_dir() else None, **values)
    except ValidationError as error:
        raise UsageError(_complaint(error, path, values)) from error
    except SettingsError as error:
        raise UsageError(f"the settings in the environment cannot be read: {error}") from error


def redacted(url: str) -> str:
    """A database or server URL that may be shown: its password, if any, is starred."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")
    if ":" not in host[0]:
        return url
    return urlunsplit(parts._replace(netloc=f"{host[0].partition(':')[0]}:***@{host[2]}"))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the settings file {path} cannot be read: {error}") from error


def _complaint(error: ValidationError, path: Path, values: Mapping[str, Any]) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    location = [str(part) for part in first["loc"]]
    place = f"in {path}" if _holds(values, location) else f"({PREFIX}{'__'.join(location).upper()})"
    key = ".".join(location)
    if first["type"] == "extra_forbidden":
        return f"the setting {key} {place} is unknown: the nearest known one is {_nearest(key)}"
    if key in GROUPS:
        return f"the setting {key} {place} is off: it has the keys {', '.join(_keys_of(key))}"
    return f"the setting {key} {place} is off: {first['msg'][0].lower()}{first['msg'][1:]}"


def _holds(values: Mapping[str, Any], location: list[str]) -> bool:
    found: Any = values
    for part in location:
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    return True


def known_keys() -> tuple[str, ...]:
    """Every setting, as `group.key`."""
    return tuple(key for group in GROUPS for key in _keys_of(group))


def _keys_of(group: str) -> list[str]:
    return [f"{group}.{key}" for key in GROUPS[group].model_fields]


def _nearest(key: str) -> str:
    known = known_keys() if "." in key else tuple(GROUPS)
    return difflib.get_close_matches(key, known, n=1, cutoff=0)[0]


def _refuse_unknown_variables() -> None:
    """A misspelt group is no group's business, so that nobody else would tell."""
    for name in sorted(os.environ):
        group, nested, key = name.removeprefix(PREFIX).lower().partition("__")
        if name.startswith(PREFIX) and nested and group not in GROUPS:
            near = _nearest(f"{group}.{key}").replace(".", "__").upper()
            raise UsageError(f"the setting {name} is unknown: the nearest known one is {PREFIX}{near}")


def database_url(settings: Settings, override: str | None) -> str:
    """The database to use, as a URL."""
    url = settings.database.url.get_secret_value() if override is None else override
    return url if "://" in url else f"sqlite:///{url}"

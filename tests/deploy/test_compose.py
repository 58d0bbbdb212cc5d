"""docker-compose.yml keeps the rules of how the service is put together."""

import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve import __version__
from service.config import load_settings
from service.policy.sources import load_policies
from service.runner.lease import LEASE_SECONDS
from tests.deploy.commands import parsed

TOP = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((TOP / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "EVOLVE_IMAGE" in service["image"]]
ONE_SHOTS = ["migrate", "first-key"]
VARIABLE = re.compile(r"\$\{([^}]*)\}")
every_service = pytest.mark.parametrize("name", SERVICES)
our_services = pytest.mark.parametrize("name", OURS)


def filled(text: str) -> str:
    """A word with the defaults of its variables."""
    return VARIABLE.sub(lambda found: found[1].partition(":-")[2], text)


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)s", duration)
    assert found, f"{duration} is no number of seconds"
    return float(found[1])


def test_the_services_are_those_of_the_documentation() -> None:
    assert set(SERVICES) == {
        "postgres", "redis", "migrate", "first-key", "api", "runner", "worker", "vllm", "prometheus", "grafana",
    }  # fmt: skip
    assert {name: SERVICES[name].get("profiles") for name in ("vllm", "prometheus", "grafana")} == {
        "vllm": ["gpu"], "prometheus": ["observability"], "grafana": ["observability"],
    }  # fmt: skip
    assert not [
        name for name in SERVICES if name not in ("vllm", "prometheus", "grafana") and "profiles" in SERVICES[name]
    ]


@our_services
def test_each_command_is_one_of_evolve(name: str) -> None:
    assert parsed([filled(str(word)) for word in SERVICES[name]["command"]])


@every_service
def test_each_service_can_do_no_more_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["pids_limit"] > 0
    assert service["mem_limit"]
    assert float(filled(str(service["cpus"]))) > 0
    assert service["tmpfs"]
    assert "privileged" not in service
    assert "network_mode" not in service
    # PostgreSQL's own entry point begins as root, to own its volume.
    assert (name == "postgres") == ("cap_add" in service)


@every_service
def test_the_signal_of_a_stop_reaches_what_it_is_meant_for(name: str) -> None:
    # An init process that started as root needs the capability KILL to signal a child that changed its user.
    changes_user = "SETUID" in SERVICES[name].get("cap_add", [])
    assert SERVICES[name]["init"] is (not changes_user)


@every_service
def test_nobody_is_root_but_who_has_to_begin_so(name: str) -> None:
    user = SERVICES[name].get("user", "")
    if name in ("postgres", "prometheus"):  # whose images go on as users of their own
        assert not user
    else:
        assert re.fullmatch(r"\$\{EVOLVE_UID:\?[^}]+\}:\$\{EVOLVE_GID:\?[^}]+\}", user)


@every_service
def test_images_are_pinned_to_exact_versions(name: str) -> None:
    _, _, tag = filled(SERVICES[name]["image"]).rpartition(":")
    assert re.match(r"v?\d+\.\d+(\.\d+)?", tag), f"{tag} is no exact version"


@every_service
def test_each_service_is_watched_unless_it_ends(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check == {"disable": True} if name in ONE_SHOTS else check["test"][0] in ("CMD", "CMD-SHELL")
    assert SERVICES[name]["restart"] == ("no" if name in ONE_SHOTS else "unless-stopped")


@every_service
def test_who_waits_for_another_waits_for_its_health_or_its_end(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        ends = other in ONE_SHOTS
        assert how == {"condition": "service_completed_successfully" if ends else "service_healthy"}


def test_nobody_works_on_an_old_schema() -> None:
    for name in ("api", "runner", "first-key"):
        assert "migrate" in SERVICES[name]["depends_on"]
    assert {"postgres"} == set(SERVICES["migrate"]["depends_on"])
    assert {"redis"} == set(SERVICES["worker"]["depends_on"])


@every_service
def test_only_this_machine_reaches_what_is_published(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@every_service
def test_each_service_has_the_time_to_end_well(name: str) -> None:
    grace = seconds(SERVICES[name]["stop_grace_period"])
    assert grace >= 20
    if name in ("runner", "worker"):
        assert grace > 2 * LEASE_SECONDS


@every_service
def test_no_secret_stands_in_the_file(name: str) -> None:
    environment = SERVICES[name].get("environment", {})
    for key, value in environment.items():
        if re.search(r"PASSWORD|SECRET|TOKEN|KEY|URL", key):
            assert str(value).startswith("/run/secrets/"), key
    assert "env_file" not in SERVICES[name]
    assert set(SERVICES[name].get("secrets", [])) <= set(COMPOSE["secrets"])


def test_every_variable_has_a_default_that_is_no_secret_or_is_demanded() -> None:
    found = VARIABLE.findall((TOP / "docker-compose.yml").read_text())
    assert found
    for variable in found:
        assert ":-" in variable or ":?" in variable, variable
        assert not re.search(r"PASSWORD|SECRET|TOKEN|KEY", variable)


def test_a_worker_reaches_redis_and_nothing_else() -> None:
    worker = SERVICES["worker"]
    assert worker["networks"] == ["work"]
    assert {name for name, service in SERVICES.items() if "work" in service["networks"]} == {"redis", "worker"}
    assert worker["secrets"] == ["evolve_queue__url"]
    assert "volumes" not in worker


def test_a_worker_demands_the_isolation_that_a_container_offers() -> None:
    assert SERVICES["worker"]["environment"]["EVOLVE_SANDBOX__REQUIRE"] == "medium"
    assert any(entry.startswith("/tmp:") and "exec" in entry.split(",") for entry in SERVICES["worker"]["tmpfs"])


def test_only_those_who_serve_or_call_people_reach_the_outside() -> None:
    for name, network in COMPOSE["networks"].items():
        # The bridge of an internal network would still have an address of the machine, and with it its open ports.
        options = {"com.docker.network.bridge.inhibit_ipv4": "true"}
        assert network == ({} if name == "outside" else {"internal": True, "driver_opts": options})
    open_networks = {name for name, network in COMPOSE["networks"].items() if not network.get("internal")}
    assert open_networks == {"outside"}
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == {
        "api", "runner", "grafana",
    }  # fmt: skip


@every_service
def test_what_is_named_exists(name: str) -> None:
    service = SERVICES[name]
    for volume in service.get("volumes", []):
        source = filled(volume).split(":")[0]
        assert source in COMPOSE["volumes"] or source.startswith("./")
        assert not source.startswith("./deploy") or (TOP / source).exists()
    for config in service.get("configs", []):
        assert (TOP / COMPOSE["configs"][config["source"]]["file"]).is_file()
    assert set(service["networks"]) <= set(COMPOSE["networks"])


def test_what_is_kept_is_kept_in_named_volumes() -> None:
    assert set(COMPOSE["volumes"]) == {"postgres", "first-key", "prometheus", "grafana"}


def test_the_policies_of_the_file_can_be_read() -> None:
    (policy,) = load_policies(str(TOP / "deploy/compose/policies.toml"))
    assert policy.base_url == "http://vllm:8000/v1"
    assert policy.api_key_file == "/run/secrets/vllm_api_key"
    assert f"--served-model-name {policy.model} " in SERVICES["vllm"]["command"][0]


@pytest.fixture
def secrets_made(tmp_path: Path) -> Path:
    subprocess.run([TOP / "scripts/make_secrets.sh", tmp_path], check=True, capture_output=True)
    return tmp_path


def test_the_script_makes_every_secret_for_its_owner_alone(secrets_made: Path) -> None:
    named = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    made = {path.name: path for path in (secrets_made / "secrets").iterdir()}
    assert named | {"redis_password"} == set(made)
    for path in made.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text()
    variables = dict(line.split("=") for line in (secrets_made / ".env").read_text().split())
    owner = made["evolve_api__secret"].stat()
    assert variables == {"EVOLVE_UID": str(owner.st_uid), "EVOLVE_GID": str(owner.st_gid)}
    assert owner.st_uid != 0


def test_making_secrets_again_changes_none(secrets_made: Path) -> None:
    before = {path: path.read_text() for path in secrets_made.rglob("*") if path.is_file()}
    (secrets_made / "secrets" / "vllm_api_key").unlink()
    subprocess.run([TOP / "scripts/make_secrets.sh", secrets_made], check=True, capture_output=True)
    after = {path: path.read_text() for path in secrets_made.rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after[path]} == {secrets_made / "secrets" / "vllm_api_key"}


def test_the_secrets_fit_each_other_and_the_settings(secrets_made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = secrets_made / "secrets"
    settings = load_settings(path=secrets_made / "none.toml", secrets_dir=folder)
    passwords = [(folder / name).read_text() for name in ("postgres_password", "redis_password", "vllm_api_key")]
    assert len({*passwords}) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9]{48}", password) for password in passwords)
    assert settings.database.url.get_secret_value() == f"postgresql://evolve:{passwords[0]}@postgres:5432/evolve"
    assert settings.queue.url is not None
    assert settings.queue.url.get_secret_value() == f"redis://:{passwords[1]}@redis:6379/0"
    assert settings.api.secret is not None
    assert len(settings.api.secret.get_secret_value()) >= 32
    assert f"requirepass {passwords[1]}\n" in (folder / "redis.conf").read_text()


def test_secrets_are_neither_committed_nor_built_in() -> None:
    command = ["git", "-c", "safe.directory=*", "check-ignore", "secrets/redis.conf", ".env"]
    ignored_by_git = subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout
    assert ignored_by_git.split() == ["secrets/redis.conf", ".env"]
    ignored = (TOP / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    assert not {"!secrets", "!.env", "!.git"} & set(ignored)


def instructions() -> list[str]:
    text = (TOP / "Dockerfile").read_text().replace("\\\n", " ")
    return [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]


def final_stage() -> int:
    """Where the stage begins that becomes the image."""
    return max(number for number, line in enumerate(instructions()) if line.startswith("FROM "))


def test_the_image_is_built_of_what_is_locked_and_runs_as_nobody() -> None:
    lines = instructions()
    stages = [line for line in lines if line.startswith("FROM ")]
    assert len(stages) == 2
    assert all(re.search(r":[^ ]*\d+\.\d+\.\d+", stage) for stage in stages)
    final = lines[lines.index(stages[1]) + 1 :]
    assert "USER 999:999" in final
    assert 'ENTRYPOINT ["evolve"]' in final
    assert any(line.startswith("HEALTHCHECK") for line in final)
    assert not any(re.search(r"\buv\b|pip", line) for line in final)
    installs = [line for line in lines if "pip install" in line]
    assert "--require-hashes -r requirements/base.txt" in installs[0]
    assert "--no-deps" in installs[1]


def test_one_service_builds_the_image_and_none_asks_a_registry_for_it() -> None:
    assert [name for name in OURS if "build" in SERVICES[name]] == ["migrate"]
    assert {filled(SERVICES[name]["pull_policy"]) for name in OURS} == {"never"}
    # This line would ask a registry for the front end of the builder.
    assert not (TOP / "Dockerfile").read_text().startswith("# syntax")


def test_the_image_tells_its_version_and_the_commit_it_is_built_from() -> None:
    (label,) = [line for line in instructions() if line.startswith("LABEL ")]
    labels = dict(re.findall(r'org\.opencontainers\.image\.([a-z.]+)="([^"]*)"', label))
    assert labels["base.name"] == "docker.io/library/" + instructions()[final_stage()].split()[1]
    assert (labels["version"], labels["revision"], labels["licenses"]) == ("$VERSION", "$REVISION", "Apache-2.0")
    assert f"ARG VERSION={__version__}" in instructions()
    assert SERVICES["migrate"]["build"]["args"] == {"REVISION": "${EVOLVE_REVISION:-}"}
    assert filled(SERVICES["migrate"]["image"]) == f"evolve:{__version__}"


def test_everybody_can_read_what_is_in_the_image_whatever_the_umask_of_the_clone() -> None:
    copied = [line.split()[-2] for line in instructions()[final_stage() :] if line.startswith("COPY")]
    (opened,) = [line for line in instructions() if "-exec chmod a+rX {} +" in line]
    folders = re.search(r"find ((?:/\S+ )+)! -type l ! -perm -004 -exec chmod", opened)
    assert folders
    assert set(folders[1].split()) == set(copied)
    assert instructions().index(opened) == final_stage() - 1


def test_the_image_is_made_for_two_architectures() -> None:
    text = (TOP / "docker-bake.hcl").read_text()
    assert 'platforms = ["linux/amd64", "linux/arm64"]' in text
    assert filled(SERVICES["api"]["image"]) in text


def test_the_image_gets_every_file_that_it_copies() -> None:
    kept = {line.removeprefix("!") for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for line in instructions()
        if line.startswith("COPY") and "--from" not in line
        for source in line.split()[1:-1]
    }
    assert copied | {"requirements"} == kept
    assert all((TOP / name).exists() for name in kept)

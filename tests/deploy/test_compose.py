"""docker-compose.yml keeps the rules of how the service is put together."""

import http.server
import re
import subprocess
import sys
import threading

import pytest

from service.policy_settings.sources import load_policies
from service.runner.lease import LEASE_SECONDS
from tests.deploy.commands import parsed
from tests.deploy.compose import COMPOSE, OURS, SERVICES, TOP, VARIABLE, filled, sources

ONE_SHOTS = ["migrate", "first-key"]
every_service = pytest.mark.parametrize("name", SERVICES)
our_services = pytest.mark.parametrize("name", OURS)


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)s", duration)
    assert found, f"{duration} is not a number of seconds"
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


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(ONE_SHOTS)))
def test_a_slow_start_is_no_failure(name: str) -> None:
    # After a reboot everything starts at once, on a machine that may have other work.
    assert seconds(SERVICES[name]["healthcheck"]["start_period"]) >= 120


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
    for source in sources(name):
        assert source in COMPOSE["volumes"] or source.startswith("./")
        assert not source.startswith("./deploy") or (TOP / source).exists()
    for config in service.get("configs", []):
        assert (TOP / filled(COMPOSE["configs"][config["source"]]["file"])).is_file()
    assert set(service["networks"]) <= set(COMPOSE["networks"])


def test_what_is_kept_is_kept_in_named_volumes() -> None:
    assert set(COMPOSE["volumes"]) == {"postgres", "first-key", "prometheus", "grafana"}


def test_the_policies_of_the_file_can_be_read() -> None:
    (policy,) = load_policies(str(TOP / "deploy/compose/policies.toml"))
    assert policy.base_url == "http://vllm:8000/v1"
    assert policy.api_key_file == "/run/secrets/vllm_api_key"
    assert f"--served-model-name {policy.model} " in SERVICES["vllm"]["command"][0]


@pytest.mark.parametrize("name", ["runner", "worker"])
def test_how_many_there_are_is_a_variable_that_every_command_reads(name: str) -> None:
    variable = {"runner": "EVOLVE_RUNNERS", "worker": "EVOLVE_WORKERS"}[name]
    assert SERVICES[name]["deploy"] == {"replicas": f"${{{variable}:-1}}"}
    pages = "".join(
        (TOP / "docs/how-to" / page).read_text() for page in ("deploy.md", "grow.md", "operate.md", "upgrade.md")
    )
    assert not re.search(r"^ +EVOLVE_\w+=\S+ docker compose", pages, re.MULTILINE)
    assert "--scale" not in pages


def test_policies_of_ones_own_are_a_file_that_git_does_not_know() -> None:
    page = (TOP / "docs/how-to/deploy.md").read_text()
    (path,) = set(re.findall(r"EVOLVE_POLICIES=(\S+)", page))
    command = ["git", "-c", "safe.directory=*", "check-ignore", path]
    assert subprocess.run(command, cwd=TOP, check=False, capture_output=True).returncode == 0
    for name in ("api", "runner"):
        (mount,) = SERVICES[name]["volumes"]
        assert mount["source"].startswith("${EVOLVE_POLICIES:-")
        assert (mount["type"], mount["read_only"], mount["bind"]) == ("bind", True, {"create_host_path": False})
        assert mount["target"] == SERVICES[name]["environment"]["EVOLVE_POLICIES__FILE"]


@pytest.mark.parametrize("name", ["api", "runner"])
def test_a_policy_server_on_the_machine_has_a_name(name: str) -> None:
    assert SERVICES[name]["extra_hosts"] == ["host.docker.internal:host-gateway"]


def test_documented_commands_on_the_database_start_nothing_else() -> None:
    pages = [(TOP / "docs/how-to" / page).read_text() for page in ("operate.md", "upgrade.md")]
    found = [line for page in pages for line in re.findall(r"docker compose run .* db .*", page)]
    assert {line.partition(" db ")[2].split()[0] for line in found} >= {"backup", "restore", "prune"}
    for line in found:
        # With the folder of the containers' user, and without a migration to the schema of a newer image.
        assert "--no-deps" in line
        assert " migrate db " in line
        assert "-v" not in line.split() or '"$PWD/backups:/backups' in line


@pytest.mark.parametrize(("name", "path"), [("api", "/readyz"), ("runner", "/metrics"), ("worker", "/metrics")])
@pytest.mark.parametrize("status", [200, 503])
def test_a_healthcheck_asks_for_the_page_and_heeds_its_status(name: str, path: str, status: int) -> None:
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(status)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [
            re.sub(r"\b(8000|9100)\b", str(server.server_port), word) for word in SERVICES[name]["healthcheck"]["test"]
        ]
        done = subprocess.run([sys.executable, *words[2:]], check=False, capture_output=True)
        server.shutdown()
    assert words[:2] == ["CMD", "python"]
    assert asked == [path]
    assert (done.returncode == 0) is (status == 200), done.stderr

"""scripts/make_secrets.sh prepares what docker-compose.yml needs, once."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from service.config import load_settings
from tests.deploy.compose import COMPOSE, SERVICES, TOP, VARIABLE, filled, sources


@pytest.fixture
def secrets_made(tmp_path: Path) -> Path:
    make_secrets(tmp_path)
    return tmp_path


def test_the_script_makes_every_secret_for_its_owner_alone(secrets_made: Path) -> None:
    named = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    made = {path.name: path for path in (secrets_made / "secrets").iterdir()}
    assert named | {"redis_password"} == set(made)
    for path in made.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text()
    variables = variables_of(secrets_made)
    owner = made["evolve_api__secret"].stat()
    assert (variables["EVOLVE_UID"], variables["EVOLVE_GID"]) == (str(owner.st_uid), str(owner.st_gid))
    assert owner.st_uid != 0


def variables_of(folder: Path) -> dict[str, str]:
    return dict(line.split("=") for line in (folder / ".env").read_text().splitlines())


def make_secrets(folder: Path, *, umask: int = -1, path: str = "") -> None:
    environment = os.environ | ({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})
    command = [TOP / "scripts/make_secrets.sh", folder]
    subprocess.run(command, check=True, capture_output=True, umask=umask, env=environment)


def test_a_last_line_of_the_variables_without_its_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EVOLVE_PORT=8001")
    make_secrets(tmp_path)
    assert variables_of(tmp_path)["EVOLVE_PORT"] == "8001"
    assert "EVOLVE_UID" in variables_of(tmp_path)


def test_backups_have_a_folder_that_containers_may_write_to(secrets_made: Path) -> None:
    folder = (secrets_made / "backups").stat()
    assert str(folder.st_uid) == variables_of(secrets_made)["EVOLVE_UID"]
    assert stat.S_IMODE(folder.st_mode) == 0o700


@pytest.mark.root
def test_variables_that_root_writes_belong_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 1234)
    make_secrets(tmp_path)
    assert (tmp_path / ".env").stat().st_uid == 1234
    assert variables_of(tmp_path)["EVOLVE_UID"] == "999"


@pytest.mark.root
def test_root_keeps_the_user_that_was_chosen_before(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EVOLVE_UID=1234\nEVOLVE_GID=1235\n")
    make_secrets(tmp_path)
    assert variables_of(tmp_path) == {"EVOLVE_UID": "1234", "EVOLVE_GID": "1235"}
    owner = (tmp_path / "secrets" / "redis.conf").stat()
    assert (owner.st_uid, owner.st_gid) == (1234, 1235)


def test_what_containers_read_is_readable_for_them_after_a_clone_under_umask_077(tmp_path: Path) -> None:
    mounted = {TOP / filled(config["file"]) for config in COMPOSE["configs"].values()}
    mounted |= {TOP / source for name in SERVICES for source in sources(name) if source.startswith("./deploy")}
    subprocess.run(["cp", "-r", TOP / "deploy", tmp_path], check=True, umask=0o077)
    copies = [tmp_path / path.relative_to(TOP) for path in mounted]
    assert all(path.stat().st_mode & 0o044 == 0 for path in copies)
    make_secrets(tmp_path, umask=0o077)
    for path in [inner for copy in copies for inner in (copy, *copy.rglob("*"))]:
        needed = 0o055 if path.is_dir() else 0o044
        assert path.stat().st_mode & needed == needed, path


@pytest.mark.parametrize(("cores", "written"), [(1, "1"), (2, None)])
def test_no_container_is_given_more_cores_than_the_machine_has(tmp_path: Path, cores: int, written: str | None) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "getconf").write_text(f"#!/bin/sh\necho {cores}\n")
    (tmp_path / "bin" / "getconf").chmod(0o755)
    make_secrets(tmp_path, path=str(tmp_path / "bin"))
    found = variables_of(tmp_path)
    assert [found.get(name) for name in ("EVOLVE_CPUS", "EVOLVE_WORKER_CPUS")] == [written, written]
    for name in set(SERVICES) - {"vllm"}:  # which asks for a machine of its size
        cpus = VARIABLE.sub(
            lambda part: found.get(part[1].split(":-")[0], filled(part[0])), str(SERVICES[name]["cpus"])
        )
        assert float(cpus) <= cores


def test_making_secrets_again_changes_none(secrets_made: Path) -> None:
    before = {path: path.read_text() for path in secrets_made.rglob("*") if path.is_file()}
    (secrets_made / "secrets" / "vllm_api_key").unlink()
    make_secrets(secrets_made)
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

"""The Dockerfile keeps the rules of the one image."""

import re

from evolve.version import __version__
from tests.deploy.compose import OURS, SERVICES, TOP, filled


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
    # Without the name of its file, bake reads docker-compose.yml as well.
    for commands in (text, (TOP / "docs/how-to/deploy.md").read_text()):
        assert re.findall(r"buildx bake (\S+ \S+)", commands) == ["--file docker-bake.hcl"]


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

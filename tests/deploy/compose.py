"""docker-compose.yml as its tests read it."""

import re
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((TOP / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "EVOLVE_IMAGE" in service["image"]]
VARIABLE = re.compile(r"\$\{([^}]*)\}")


def filled(text: str) -> str:
    """A word with the defaults of its variables."""
    return VARIABLE.sub(lambda found: found[1].partition(":-")[2], text)


def sources(name: str) -> list[str]:
    """Volumes and paths that a service mounts, with the defaults of their variables."""
    mounts = SERVICES[name].get("volumes", [])
    return [filled(mount["source"]) if isinstance(mount, dict) else filled(mount).partition(":")[0] for mount in mounts]

"""The packages that files beside an evaluator declare: `requirements.txt`, `pyproject.toml` or `environment.yml`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder

REQUIREMENTS = "requirements.txt"
FILES = (REQUIREMENTS, "pyproject.toml", "environment.yml", "environment.yaml")
_CONDA = re.compile(r"(?:[\w-]+::)?([A-Za-z0-9][\w.-]*)\s*(?:=([\w.*]+)(?:=[\w.*]+)?|([<>=!~]=?[^=].*))?", re.ASCII)
_NO_PACKAGES = ("python", "pip")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPackages:
    """What one file declares.

    Attributes:
        file: its name.
        lines: as pip takes them, one for each package or option.
    """

    file: str
    lines: tuple[str, ...]


def declared_packages(files: Folder, evaluator: str) -> DeclaredPackages | None:
    """The packages of the first such file beside an evaluator, else at the top of the problem; None: there is none.

    Args:
        files: of the problem.
        evaluator: path of the evaluator.
    """
    for place in dict.fromkeys((PurePosixPath(evaluator).parent, PurePosixPath())):
        for name in FILES:
            content = files.files.get(str(place / name))
            if content is not None and (lines := _lines_of(name, content)):
                return DeclaredPackages(file=name, lines=lines)
    return None


def _lines_of(name: str, content: bytes) -> tuple[str, ...]:
    if name == REQUIREMENTS:
        text = content.decode("utf-8", "replace").replace("\\\n", " ")
        found = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
        return tuple(line for line in found if line)
    try:
        document = read_document(name, content)
    except DocumentError:
        return ()
    return tuple(_of_project(document) if name == "pyproject.toml" else _of_conda(document))


def _of_project(document: Mapping[str, Any]) -> list[str]:
    project = document.get("project")
    listed = project.get("dependencies") if isinstance(project, Mapping) else None
    return [line for line in listed if isinstance(line, str)] if isinstance(listed, list) else []


def _of_conda(document: Mapping[str, Any]) -> list[str]:
    """Packages of a conda environment under the same names, and those that it leaves to pip."""
    listed = document.get("dependencies")
    lines: list[str] = []
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, Mapping):
            below = item.get("pip")
            lines += [line for line in below if isinstance(line, str)] if isinstance(below, list) else []
        elif isinstance(item, str) and (read := _CONDA.fullmatch(item.strip())) and read[1] not in _NO_PACKAGES:
            lines.append(f"{read[1]}=={read[2]}" if read[2] else f"{read[1]}{read[3] or ''}")
    return lines

"""A problem's folder as it is sent to a service."""

import base64
from pathlib import Path

from evolve.extensions import ExtensionKind, built_in_names
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle
from service.problems.formats.openevolve import without_keys
from service.problems.load import load_problem, read_project
from service.problems.project import Project, as_project
from service.problems.repository.base import with_base
from service.schemas.problems import ProblemCreate
from service.schemas.requests import checked

NATIVE = "problem.toml"


def upload_of(place: Path | Project) -> ProblemCreate:
    """Read a problem for a service, without keys inside it. Its name is that of its files, or else its folder's.

    The commit of a repository comes along: the service does not read folders that others name.

    Raises:
        InvalidProblemError: something in it cannot be included.
    """
    project = as_project(place)
    form, read, complaints = read_project(project)
    if complaints:
        raise InvalidProblemError(complaints)
    if form not in built_in_names(ExtensionKind.PROBLEM_FORMAT):
        read = open_bundle(load_problem(project).bundle)  # the service may lack the format
    read = with_base(read, project.top).files if NATIVE in read.files else without_keys(read)
    texts: dict[str, str] = {}
    others: dict[str, str] = {}
    for path, content in read.files.items():
        text = _text(content)
        if text is None:
            others[path] = base64.b64encode(content).decode()
        else:
            texts[path] = text
    if not texts:
        raise InvalidProblemError([f"{project.folder} holds no text file: name the folder with {NATIVE}"])
    named = {} if NATIVE in texts else {"name": project.name}
    executable = sorted(read.executable)
    return checked(ProblemCreate, files=texts, binary_files=others, executable=executable, **named)


def _text(content: bytes) -> str | None:
    """A content as text. None if it is not text, or would not come back byte for byte."""
    if b"\x00" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None

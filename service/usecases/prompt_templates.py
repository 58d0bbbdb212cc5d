"""The prompt texts that a run has in place of the built-in ones."""

import os
from pathlib import Path, PurePath

from evolve.configuration import RunConfig
from evolve.prompt import check_templates
from service.errors import UsageError
from service.policy_settings.choice import submitted
from service.problems.bundle import open_bundle
from service.usecases.plan import RunPlan


def read_templates(plan: RunPlan) -> dict[str, str]:
    """The user's prompt texts, from files called after the template; a relative folder lies in the problem's.

    What lies in the problem's folder is read from what is stored of it, so that a resumed run asks with the same texts.

    Raises:
        UsageError: the folder cannot be read.
        ConfigurationError: a name or a placeholder is off.
    """
    if not plan.config.prompt.template_dir:
        return {}
    folder = Path(plan.source) / Path(plan.config.prompt.template_dir).expanduser()
    try:
        files = _stored_files(plan)
        if submitted(plan.source) and not files:
            raise UsageError(f"prompt.template_dir: the problem has no folder {plan.config.prompt.template_dir!r}")
        files = files or {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        templates = {PurePath(name).stem: content.decode() for name, content in files.items()}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompt.template_dir: the folder {folder} cannot be read: {error}") from error
    check_templates(templates)
    return templates


def folder_templates(problem: Path, config: RunConfig) -> dict[str, str]:
    """The user's prompt texts of a run, read from the folder of its problem.

    Raises:
        UsageError: the folder cannot be read.
        ConfigurationError: a name or a placeholder is off.
    """
    if not config.prompt.template_dir:
        return {}
    folder = problem / Path(config.prompt.template_dir).expanduser()
    try:
        templates = {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompt.template_dir: the folder {folder} cannot be read: {error}") from error
    check_templates(templates)
    return templates


def _stored_files(plan: RunPlan) -> dict[str, bytes]:
    """Files of the templates' folder in the bundle; none where it lies elsewhere, or is hidden and so left out."""
    place = os.path.normpath(Path(plan.config.prompt.template_dir).expanduser())
    if os.path.isabs(place) or place.split(os.sep)[0] == "..":
        return {}
    return {name: content for name, content in open_bundle(plan.bundle).below(place).items() if "/" not in name}

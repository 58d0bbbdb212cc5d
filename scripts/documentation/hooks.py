"""Events of MkDocs: the pages that are generated, the navigation, and links that leave `docs/`."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

from scripts.documentation.commands import command_reference
from scripts.documentation.llms import LLMS, llms_index, write_page
from scripts.documentation.markdown import (
    PROJECT,
    loaded_from_elsewhere,
    repository_path,
    site_path,
    targets,
    with_site_details,
    with_site_links,
    with_site_lists,
)
from scripts.documentation.navigation import Entry, navigation, numbered_pages, sections
from scripts.documentation.rest import rest_reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LIBRARY = ROOT / "evolve"
LANGUAGES = {".py": "python", ".sh": "sh", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}
DECISIONS: Entry = {"Decisions": "decisions/README.md"}
ICON = ROOT / "service" / "dashboard" / "static" / "icon.svg"
COMMANDS, REST, PYTHON = "reference/commands.md", "reference/rest", "reference/python"


def on_config(config: Any) -> Any:
    """Set the navigation."""
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    decisions = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    rest: list[Entry] = [{name.replace("-", " ").capitalize(): path} for name, path in _rest_paths()]
    python: list[Entry] = [{"Overview": f"{PYTHON}/index.md"}]
    python += [{f"evolve.{name}": f"{PYTHON}/{name}.md"} for name in _modules()]
    reference: list[Entry] = [{"Every command and option": COMMANDS}, {"REST API": rest}, {"Python API": python}]
    entries = navigation(index, {"Reference": reference})
    for _, pages in sections(entries):
        if DECISIONS in pages:
            pages[pages.index(DECISIONS)] = {"Decisions": numbered_pages(decisions, "decisions")}
    config.nav = [*entries, {"Project": [{title: PROJECT + name} for title, name in _PROJECT_PAGES.items()]}]
    return config


_PROJECT_PAGES = {
    "Evolve": "README.md",
    "Examples": "examples/README.md",
    "Changelog": "CHANGELOG.md",
    "Contributing": "CONTRIBUTING.md",
    "Security": "SECURITY.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are generated, and the files of the repository that pages link to."""
    generated = {COMMANDS: _commands(), f"{PYTHON}/index.md": _python_index()}
    document = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    generated |= {f"{REST}/{name}.md": text for name, text in rest_reference(document).items()}
    generated |= {f"{PYTHON}/{name}.md": _python_page(name) for name in _modules()}
    linked = dict(_linked_files())
    for path, text in (generated | linked).items():
        in_navigation = path in generated or path.removeprefix(PROJECT) in _PROJECT_PAGES.values()
        inclusion = InclusionLevel.UNDEFINED if in_navigation else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, path, content=text, inclusion=inclusion))
    files.append(File.generated(config, "images/icon.svg", abs_src_path=str(ICON)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Fit the Markdown of the repository to the site; generated pages are written for it."""
    path = page.file.src_uri
    if path.startswith((PYTHON, REST)) or path == COMMANDS:
        fitted = markdown
    else:
        fitted = with_site_details(with_site_lists(with_site_links(markdown, repository_path(path))))
    if not path.startswith(PYTHON):  # their text is in the code
        write_page(Path(config.site_dir), path, fitted)
    return fitted


def on_post_build(config: Any, **_: Any) -> None:
    """Write the index for language models."""
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = {name.replace("-", " ").capitalize(): path for name, path in _rest_paths()}
    rest = {f"REST API: {title}": path for title, path in pages.items()}
    text = llms_index(index, {"Every command and option": COMMANDS, **rest})
    (Path(config.site_dir) / LLMS).write_text(text, encoding="utf-8")


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that loads something from another host: the site works without a network."""
    loaded = loaded_from_elsewhere(output)
    if loaded:
        raise PluginError(f"{page.file.src_uri} loads from another host: {', '.join(loaded)}")
    return output


def _commands() -> str:
    import typer

    from service.cli.app import app

    return command_reference(typer.main.get_command(app))


def _rest_paths() -> Iterator[tuple[str, str]]:
    document = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    for name in rest_reference(document):
        yield name, f"{REST}/{name}.md"


def _modules() -> list[str]:
    """Every module and package at the top of the library."""
    names = {path.relative_to(LIBRARY).parts[0].removesuffix(".py") for path in LIBRARY.rglob("*.py")}
    return sorted(name for name in names if not name.startswith("_"))


def _python_page(name: str) -> str:
    """The page of a module, or of a package with all that is in it."""
    paths = [path for path in sorted((LIBRARY / name).rglob("*.py")) if path.stem != "__init__"]
    inner = [".".join(("evolve", *path.relative_to(LIBRARY).with_suffix("").parts)) for path in paths]
    return "\n".join((f"# evolve.{name}", "", *(f"::: {module}\n" for module in (f"evolve.{name}", *inner))))


def _python_index() -> str:
    rows = "\n".join(f"| [`evolve.{name}`]({name}.md) | {_summary(name)} |" for name in _modules())
    return (
        "# Python API\n\n"
        "[Search from a notebook or a script](../../how-to/notebook.md) shows how to call `evolve.run`.\n\n"
        f"::: evolve.run\n\n## Modules\n\n| module | |\n|---|---|\n{rows}\n"
    )


def _summary(name: str) -> str:
    package = LIBRARY / name / "__init__.py"
    path = package if package.exists() else LIBRARY / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _linked_files() -> Iterator[tuple[str, str]]:
    """Files outside of `docs/` that pages link to, and those that these link to."""
    pages = [str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md")]
    waiting, seen = [*pages, *_PROJECT_PAGES.values()], set(pages)
    while waiting:
        page = waiting.pop()
        text = (ROOT / page).read_text(encoding="utf-8")
        if page not in seen:
            seen.add(page)
            yield site_path(page), text if page.endswith(".md") else _source(page, text)
        if page.endswith(".md"):
            found = set(targets(text, page)) - seen
            waiting += [one for one in found if not one.startswith("docs/") and (ROOT / one).is_file()]


def _source(name: str, text: str) -> str:
    fence = "`" * 8
    return f"# {name}\n\n{fence}{LANGUAGES.get(Path(name).suffix, 'text')}\n{text}\n{fence}\n"

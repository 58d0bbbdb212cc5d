"""Assets in one file: modules joined as they would be loaded, and a policy under which nothing else runs."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from service.dashboard import assets
from service.dashboard.inline_assets import embedded, inlined, joined
from service.dashboard.report import MODULES, SCRIPTS, STYLES

LEAF = "export const deep = 1;\nexport async function more() { return deep; }\n"
MIDDLE = 'import { deep, more as much } from "./leaf.js";\nexport class Kept {}\nmuch(deep, Kept);\n'
TOP = 'import {\n  Kept,\n} from "./middle.js";\nimport { deep } from "./leaf.js";\nnew Kept(deep);\n'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assets of this test in place of the dashboard's."""
    texts = {
        "leaf.js": LEAF,
        "middle.js": MIDDLE,
        "top.js": TOP,
        "a.js": 'import { b } from "./b.js";\nexport const a = b;\n',
        "b.js": 'import { a } from "./a.js";\nexport const b = a;\n',
        "default.js": "export default 1;\n",
        "all.js": 'import * as leaf from "./leaf.js";\n',
        "two.js": "export const one = 1, two = 2;\n",
        "lost.js": 'import { one, two } from "./two.js";\none(two);\n',
        "ends.js": 'const text = "</script>";\n',
        "plain.css": "a { color: red; }\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(assets, "files", lambda: {name: tmp_path / name for name in texts})


def test_what_a_module_imports_stands_before_it_once(own: None) -> None:
    text = joined(["top.js", "leaf.js"])
    places = [text.index(f"const module_{name} = ") for name in ("leaf", "middle", "top")]
    assert places == sorted(places)
    assert text.count("const deep = 1;") == 1
    assert "const { deep, more: much } = module_leaf;" in text
    assert "return { deep, more };" in text


@pytest.mark.parametrize("name", ["default.js", "all.js", "a.js", "lost.js"])
def test_what_cannot_be_joined_is_refused(own: None, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        joined([name])


def test_a_text_that_would_end_its_element_is_refused(own: None) -> None:
    with pytest.raises(ValueError, match="</script"):
        inlined(["plain.css"], ["ends.js"], [])


def test_the_policy_names_every_text_of_a_report_and_nothing_else() -> None:
    made = inlined(STYLES, SCRIPTS, MODULES)
    texts = [str(element)[len("<script>") : -len("</script>")] for element in made.scripts]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts}
    rules = dict(rule.split(" ", 1) for rule in made.policy.split("; "))
    assert set(rules["script-src"].split()) == hashes
    assert rules["default-src"] == rules["form-action"] == "'none'"
    assert "unsafe" not in made.policy


def test_what_is_embedded_ends_no_element_and_stays_what_it_is() -> None:
    value = {"name": "</script><script>alert(1)</script><!--", "list": [None, 1.5]}
    text = str(embedded(value))
    assert "<" not in text
    assert json.loads(text) == value

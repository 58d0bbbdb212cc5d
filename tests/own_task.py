"""The domain of the how-to `your-own-task.md`, as its reader saves it."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "your-own-task.md"


def write_letters(folder: Path) -> Path:
    """Write `letters.py` out of the page."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    path = folder / "letters.py"
    path.write_text(found[1], encoding="utf-8")
    return path

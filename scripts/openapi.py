"""Write the document of the API to docs/openapi.json; a test compares the file with what the code says."""

import json
from pathlib import Path

from service.api.app import document

PLACE = Path(__file__).parents[1] / "docs" / "openapi.json"


def text() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
    print("wrote docs/openapi.json")

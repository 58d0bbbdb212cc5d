"""Names and values in two columns on a terminal."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

Rows = list[tuple[str, Any]]


def styled(text: str, style: str) -> Any:
    """Text with a style, for a terminal."""
    from rich.text import Text

    return Text(text, style=style)


def facts(rows: Rows) -> "Table":
    """Names and values in two columns; a row without a value is left out."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            table.add_row(name, value)
    return table

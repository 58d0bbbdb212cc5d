"""The schema's history: Alembic revisions, shipped with the package."""

# Oldest first; a revision file adds its own here, so that opening a current database need not read the files.
REVISIONS = (
    "0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012", "0013", "0014",
    "0015", "0016", "0017", "0018", "0019", "0020",
)  # fmt: skip
HEAD = REVISIONS[-1]

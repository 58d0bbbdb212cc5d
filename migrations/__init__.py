"""The schema's history: Alembic revisions, shipped with the package."""

# Oldest first. A revision file adds its own here, so that opening a current database need not read the files.
REVISIONS = (
    "0001_initial",
    "0002_views_and_changes",
    "0003_policies",
    "0004_changed_parts",
    "0005_view_requests",
    "0006_compact_rows",
    "0007_snapshots",
    "0008_event_partitions",
)
HEAD = REVISIONS[-1]
# Development versions before the first release numbered theirs so. No revision leads on from them.
UNRELEASED = tuple(f"{number:04}" for number in range(1, 21))

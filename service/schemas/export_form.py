"""What a run is exported as."""

from typing import Literal

ExportForm = Literal["jsonl", "csv", "training", "events"]

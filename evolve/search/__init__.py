"""The search: proposals, evaluation results, islands, and the event-sourced state of a run."""

"""How long tests wait for what comes in a moment: on a busy machine a long one; one that passes never waits so long."""

PATIENCE_SECONDS = 180.0

"""Where SkyDiscover's evaluators find the value that they may return."""

"""The part of SkyDiscover that its evaluators import, for where SkyDiscover itself is not installed."""

STAND_IN = True

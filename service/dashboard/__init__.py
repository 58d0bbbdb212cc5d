"""The dashboard: pages over the service's own API, right without script, live with it."""

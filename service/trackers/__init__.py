"""Trackers that come with Evolve. Each is imported when a run names it, and needs an extra of its own."""

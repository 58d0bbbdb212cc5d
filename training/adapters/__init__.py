"""Vector Policy Optimization inside other people's trainers; nothing of a trainer is imported before it is used."""

"""Policies: what turns proposals into answers."""

"""Policies: they answer proposals."""

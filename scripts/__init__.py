"""Checks and set-up steps that the Makefile calls."""

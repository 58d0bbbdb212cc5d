"""Coding agents as policies: an agent edits a program's files in a sandbox, and what it leaves there is the answer."""

"""Training of policies: small policies from scratch on mazes, and adapters for trainers of large models.

It can be imported without torch. Modules import a framework when they are called, or their caller imports it.
"""

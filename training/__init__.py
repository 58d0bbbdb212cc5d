"""Training of policies: small ones from scratch on mazes, and adapters for those who train large ones.

Importable without torch: what needs a framework imports it when it is called, or is imported by whoever calls it.
"""

"""How near two programs are: fingerprints, token sets and embeddings."""

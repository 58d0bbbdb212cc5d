"""What users say of policies: descriptions, roles, sources, prices and keys, before any policy is opened."""

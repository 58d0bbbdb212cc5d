"""Parts of scripts/containers_check.sh."""

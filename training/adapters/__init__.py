"""Vector Policy Optimization inside other trainers. A trainer is imported only at its first use."""

"""What islands, policies, operators and reply forms have earned so far: bandits and yields."""

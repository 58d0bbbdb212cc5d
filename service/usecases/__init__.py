"""What the service does for its front doors, in terms of ports."""

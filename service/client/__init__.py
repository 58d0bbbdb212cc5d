"""What speaks to a service over HTTP."""

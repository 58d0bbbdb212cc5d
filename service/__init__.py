"""The service around the search: command line, storage, policies, sandbox and workers."""

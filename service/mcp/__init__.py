"""The MCP server: tools of agents over the client of a service."""

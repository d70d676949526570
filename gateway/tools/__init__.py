"""What agents can do besides talking: Python functions, HTTP endpoints, MCP servers, built-ins."""

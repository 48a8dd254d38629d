"""The guard as tools for an automated analyst: what the tools are, whom they ask, and how they are spoken to (MCP)."""

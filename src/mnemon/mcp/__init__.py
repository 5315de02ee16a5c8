"""The MCP door: serves the tools and resources of the house to any MCP client. It holds no rule."""

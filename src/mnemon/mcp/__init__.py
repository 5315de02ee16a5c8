"""The MCP door: serves Mnemon's tools and resources to any MCP client. It holds no rule."""

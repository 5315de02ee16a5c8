"""The adapters for agent frameworks under their earlier name: this package's modules are those of `mnemon_client`."""

from mnemon_client import integrations

# The same files: `mnemon.integrations.langgraph_store` is found where `mnemon_client.integrations` has it.
__path__ = integrations.__path__

"""The Python client, async (`Mnemon`) and sync (`SyncMnemon`). It imports nothing of the server.

The one package whose `__init__` gives names: it is what other people's programs import.
"""

from mnemon_client.asynchronous import Mnemon
from mnemon_client.errors import ApiError, ClientError, UnexpectedAnswer, Unreachable
from mnemon_client.events import Event, Verified
from mnemon_client.sync import SyncMnemon

__all__ = ["ApiError", "ClientError", "Event", "Mnemon", "SyncMnemon", "UnexpectedAnswer", "Unreachable", "Verified"]

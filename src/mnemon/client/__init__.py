"""The Python client under the name it has for programs that installed the server: all of it is `mnemon_client`."""

from mnemon_client import (
    ApiError,
    ClientError,
    Event,
    Mnemon,
    SyncMnemon,
    UnexpectedAnswer,
    Unreachable,
    Verified,
)

__all__ = ["ApiError", "ClientError", "Event", "Mnemon", "SyncMnemon", "UnexpectedAnswer", "Unreachable", "Verified"]

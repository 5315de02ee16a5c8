"""A model's key: what to say where it is missing or cannot be sent. It stands in no message and no log."""

from mnemon.errors import Misconfigured


def missing_key(vendor: str, model: str) -> Misconfigured:
    """The error for a model that needs a key and has none."""
    return Misconfigured(
        f"{vendor}:{model} needs a key. Set {vendor.upper()}_API_KEY. The key of the model in MNEMON_MODEL may also "
        "stand in MNEMON_MODEL_API_KEY. MNEMON_MODEL=offline needs neither."
    )


def sendable(key: str) -> str:
    """The key, unless no header can carry it: the network's error would quote it in full."""
    if key.isascii() and key.isprintable():
        return key
    raise Misconfigured(
        "MNEMON_MODEL_API_KEY has a character that cannot be sent, perhaps a line break at its end. Set it without."
    )

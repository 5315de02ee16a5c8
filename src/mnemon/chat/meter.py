"""What `/metrics` tells about turns."""

from prometheus_client import Counter

SEALED = Counter("mnemon_turns_sealed_total", "Chat turns that ended, by how.", ("status",))

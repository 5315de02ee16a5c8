"""How long a test waits for what must come."""

HANGS_S = 120.0
"""Seconds that only something which hangs takes, on the slowest and busiest of machines: no verdict on speed."""

"""The console: pages that show what agents remember, believe and decided. A handler calls a room, never SQL."""

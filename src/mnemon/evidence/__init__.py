"""What makes a claim honest: the quote gate, the number gate, computed confidence, the attributed evidence line and
the rule for what was said in confidence. Pure functions that every room uses; nothing here stores, asks a model or
knows a room."""

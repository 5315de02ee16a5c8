"""Hashes of what was forgotten, so that a reflection run again does not bring it back. Not the forgetting: custody."""

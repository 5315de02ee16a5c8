"""Recall: what of a person's memories and messages answers a query, ranked and explained, with entity cards. Reads
only. The rankings themselves are rules of the room above this folder."""

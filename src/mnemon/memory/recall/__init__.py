"""Recall: what of a person's memories and messages answers a query, ranked and explained, with entity cards. Writes
nothing but how often it was asked. The rankings themselves are rules of the room above this folder."""

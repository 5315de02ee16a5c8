"""What is known about a person: memories with their keys, versions and sources, the entities they speak of, how
they are found again and ranked, cards, todos, and their upkeep. Not the conversation itself (sessions), not beliefs
about an organization (engagement), and nothing that must reach across rooms (custody)."""

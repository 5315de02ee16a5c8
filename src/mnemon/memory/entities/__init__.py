"""Who and what a person's memories speak of: names that mean one entity, aliases with their log, suggestions, graph.
Not the memories themselves (memory) and not what an agent holds true about objects of a session (agentstate)."""

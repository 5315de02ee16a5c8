"""Where the vectors of memories, their versions and messages stand. Not how they are made (vectors), nor how they are
weighed (ranking)."""

"""Entities: whom and what a person's memories mention, and which names mean the same one.

Holds aliases with their log, merge suggestions and the graph. The memories themselves are in `memory`; what an agent
believes about objects of a session is in `agentstate`.
"""

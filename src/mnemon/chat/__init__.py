"""A chat turn from start to end: stored, given its context, answered as a stream or recorded after the fact, sealed.

It knows neither HTTP nor MCP; the doors translate.
"""

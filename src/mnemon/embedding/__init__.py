"""Embedding models behind one small protocol: a local one from a wheel, any OpenAI-compatible endpoint, a fake.

This room turns texts into unit vectors. It does not know whose texts they are, nor where vectors are stored.
"""

"""What can think for an agent: a model behind our own protocol, or the Claude CLI as a program. Each file knows one
vendor's ways and fills the seam in `runs/adapter.py`; none of them opens a transaction or knows what a run is for.
"""

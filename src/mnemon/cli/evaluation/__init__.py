"""What `mnemon eval` does: labelled turns, the player that puts them through the pipeline, the score and its report.

Nothing here is part of the server: the turns go through the API of a Mnemon of their own.
"""

"""The harness of `mnemon bench`: quality and speed of recall, speed of writing, and other stores in the same run.

Nothing outside the command imports it.
"""

"""The checks of `mnemon doctor`, a file per subject.

Each check says what it found, how bad that is, and how to fix it. Checks change nothing, and none of them raises.
"""

"""The story `mnemon demo` tells: what is said and asked, as data, and the stage that plays it.

It goes through the real pipeline with a scripted model and a clock of its own, and writes nothing itself: every row is
the doing of a door or a job.
"""

"""One turn from end to end: stored, given its context, answered in a stream or recorded from elsewhere, sealed.

It knows no wire; the doors translate.
"""

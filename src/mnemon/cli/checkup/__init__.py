"""What `mnemon doctor` looks at, one idea per file. Each check says what is so, how bad that is, and the line that
mends it. Checks change nothing, and none of them raises.
"""

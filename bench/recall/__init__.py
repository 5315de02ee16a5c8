"""The recall benchmark: quality and speed of recall, speed of writing, and other stores in the same run.

`python -m bench.recall` measures; only `bench/held_out.py` and the tests import from here.
"""

import os

# As the program `mnemon` does, before numpy is imported: BLAS threads would wait for each other longer than they
# compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

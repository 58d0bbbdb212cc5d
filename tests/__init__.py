"""The tests: unit, property, contract, integration and structure."""

import os

# The matrices of the tests are small. The threads of OpenBLAS wait for each other with busy loops, beside which other
# tests run: a policy that comes along took 48 times the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

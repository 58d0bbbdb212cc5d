"""A scheme for the product of a 3 x 3 and a 3 x 3 matrix: blocks of 2 x 2 by Strassen's seven terms.

Only what stands between the two markers may change.
"""

ROWS, INNER, COLUMNS = 3, 3, 3

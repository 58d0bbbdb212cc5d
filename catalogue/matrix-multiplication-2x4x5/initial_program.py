"""A scheme for the product of a 2 x 4 and a 4 x 5 matrix: blocks of 2 x 2 by Strassen's seven terms.

Only what stands between the two markers may change.
"""

ROWS, INNER, COLUMNS = 2, 4, 5

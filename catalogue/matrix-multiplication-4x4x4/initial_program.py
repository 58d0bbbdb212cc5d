"""A scheme for the product of a 4 x 4 and a 4 x 4 matrix: blocks of 2 x 2 by Strassen's seven terms.

Only what stands between the two markers may change.
"""

ROWS, INNER, COLUMNS = 4, 4, 4

# EVOLVE-BLOCK-START
# Strassen's terms: weights of a 2 x 2 block, row by row, of the first matrix, of the second, and of the result.
STRASSEN = [
    ((1, 0, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1)),
    ((0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 1, -1)),
    ((1, 0, 0, 0), (0, 1, 0, -1), (0, 1, 0, 1)),
    ((0, 0, 0, 1), (-1, 0, 1, 0), (1, 0, 1, 0)),
    ((1, 1, 0, 0), (0, 0, 0, 1), (-1, 1, 0, 0)),
    ((-1, 0, 1, 0), (1, 1, 0, 0), (0, 0, 0, 1)),
    ((0, 1, 0, -1), (0, 0, 1, 1), (1, 0, 0, 0)),
]
BLOCKS = [(0, 0, 0)]  # first row of a block, first inner index, first column


def scheme():
    """Terms (u, v, w): weights of the entries of the three matrices, row by row."""
    return [placed(block, term) for block in BLOCKS for term in STRASSEN]


def placed(block, term):
    """A term of a block, for the whole matrices."""
    row, inner, column = block
    u, v, w = [0] * (ROWS * INNER), [0] * (INNER * COLUMNS), [0] * (ROWS * COLUMNS)
    for i in range(2):
        for j in range(2):
            u[(row + i) * INNER + inner + j] = term[0][2 * i + j]
            v[(inner + i) * COLUMNS + column + j] = term[1][2 * i + j]
            w[(row + i) * COLUMNS + column + j] = term[2][2 * i + j]
    return u, v, w


# EVOLVE-BLOCK-END


def terms():
    """The terms as lists."""
    return [[list(part) for part in term] for term in scheme()]

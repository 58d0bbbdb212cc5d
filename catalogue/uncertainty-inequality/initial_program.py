"""Coefficients of Hermite polynomials of degree 0, 4, 8, ...

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
COEFFICIENTS = [0.33, -0.0116, -0.00009]

# EVOLVE-BLOCK-END


def coefficients():
    """2 to 10 numbers."""
    return [float(part) for part in COEFFICIENTS][:10]

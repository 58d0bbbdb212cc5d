"""Stands in for the package that OpenEvolve's evaluators import; it holds what an evaluator needs and no more.

Modules of it that came along with a problem are found below it.
"""

from pkgutil import extend_path

STAND_IN = True
__path__ = extend_path(__path__, __name__)

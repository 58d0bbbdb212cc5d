"""The part of ShinkaEvolve that its evaluators import, for where ShinkaEvolve itself is not installed.

Modules of it that came along with a problem are found below it.
"""

from pkgutil import extend_path

STAND_IN = True
__path__ = extend_path(__path__, __name__)

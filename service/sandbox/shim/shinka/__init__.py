"""The part of ShinkaEvolve that its evaluators import, for where ShinkaEvolve itself is not installed.

Modules of it that came along with a problem are found below it.
"""

import os
import sys

STAND_IN = True
# As `pkgutil.extend_path` does, which a program cannot import where its interpreter's folder is closed to it.
_PLACES = [os.path.join(folder, __name__) for folder in sys.path]
__path__ += [place for place in _PLACES if place not in __path__ and os.path.isdir(place)]

#!/bin/sh
# Says in one sentence what is missing on this machine; prints the Python to use.
# Usage: check_machine.sh [PYTHON]
set -u

refuse() { echo "$1" >&2; exit 1; }

suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for name in ${1:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if suits "$name"; then command -v "$name"; return 0; fi
    done
    return 1
}

[ "$(uname -s)" = Linux ] || echo "Note: only Linux offers every layer of the sandbox; 'evolve doctor' says which are on here." >&2
command -v git >/dev/null || refuse "git is missing: install it (Debian, Ubuntu: apt-get install git)."
python=$(find_python "${1:-}") || refuse "Python 3.11 or newer is missing: install it, or name one with 'make PYTHON=/path/to/python3'."
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    refuse "$python has no venv module: install it (Debian, Ubuntu: apt-get install python3-venv)."
echo "$python"

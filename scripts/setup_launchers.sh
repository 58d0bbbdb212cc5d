#!/bin/sh
# Makes .venv-launchers: what running needs, and the libraries that tests/launchers starts workers on, all as wheels. About
# 520 MB; what is there already is kept. Usage: [PYTHON=...] scripts/setup_launchers.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-launchers
pip="$venv/bin/python -m pip --disable-pip-version-check install -qq"
locks="requirements/build.txt requirements/base.txt requirements/launchers.txt"
wanted=$(cat "$0" $locks | cksum)

if [ "$(cat $venv/.made 2>/dev/null || true)" != "$wanted" ]; then
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing Ray and Dask into $venv ..."
    "$python" -m venv --clear $venv
    # shellcheck disable=SC2046,SC2086 # lists of words
    $pip --require-hashes --only-binary :all: $(printf -- '-r %s ' $locks)
    $pip --no-deps --no-build-isolation --editable .
    echo "$wanted" >$venv/.made
fi

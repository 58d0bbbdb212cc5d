#!/bin/sh
# Makes .venv-verifiers: what running needs, and the library that tests/verifiers loads an exported environment with, all as
# wheels. About 400 MB; what is there already is kept. Usage: [PYTHON=...] scripts/setup_verifiers.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-verifiers
pip="$venv/bin/python -m pip --disable-pip-version-check install -qq"
locks="requirements/build.txt requirements/base.txt requirements/verifiers.txt"
wanted=$(cat "$0" $locks | cksum)

if [ "$(cat $venv/.made 2>/dev/null || true)" != "$wanted" ]; then
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing verifiers into $venv ..."
    "$python" -m venv --clear $venv
    # shellcheck disable=SC2046,SC2086 # lists of words
    $pip --require-hashes --only-binary :all: $(printf -- '-r %s ' $locks)
    $pip --no-deps --no-build-isolation --editable .
    echo "$wanted" >$venv/.made
fi

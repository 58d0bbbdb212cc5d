#!/bin/sh
# Makes .venv-trackers: what running needs, and the libraries that tests/trackers sends runs to, all as wheels. About 450 MB;
# what is there already is kept. Usage: [PYTHON=...] scripts/setup_trackers.sh
set -eu

cd "$(dirname "$0")/.."
venv=.venv-trackers
pip="$venv/bin/python -m pip --disable-pip-version-check install -qq"
locks="requirements/build.txt requirements/base.txt requirements/trackers.txt"
wanted=$(cat "$0" $locks | cksum)

if [ "$(cat $venv/.made 2>/dev/null || true)" != "$wanted" ]; then
    python=$(scripts/check_machine.sh "${PYTHON:-}")
    echo "Installing the client of MLflow, TensorBoard, W&B and OpenTelemetry into $venv ..."
    "$python" -m venv --clear $venv
    # shellcheck disable=SC2046,SC2086 # lists of words
    $pip --require-hashes --only-binary :all: $(printf -- '-r %s ' $locks)
    $pip --no-deps --no-build-isolation --editable .
    echo "$wanted" >$venv/.made
fi

#!/bin/sh
# Makes scripts/javascript/node_modules: what checks the dashboard's scripts and styles. About 120 MB; what is there already
# is kept. Usage: scripts/setup_javascript.sh
set -eu

cd "$(dirname "$0")/javascript"
command -v npm >/dev/null || { echo "npm is missing: install Node.js 18 or newer." >&2; exit 1; }

if ! cmp -s package-lock.json node_modules/.lock; then
    echo "Installing Biome and TypeScript into scripts/javascript/node_modules ..."
    npm ci --silent --no-audit --no-fund
    cp package-lock.json node_modules/.lock
fi

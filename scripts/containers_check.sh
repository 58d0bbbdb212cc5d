#!/usr/bin/env bash
# Checks what docs/how-to/{deploy,operate,grow,upgrade}.md promise, with a real Docker: it clones HEAD, runs the commands of
# the pages, kills, stops, restores and scales, and prints PASS or FAIL for each promise. It ends with 1 after a FAIL.
#
#   scripts/containers_check.sh [FOLDER]     FOLDER: where the clones and logs go; without it, a temporary one
#
# Needed: root, Docker with Compose, git, curl, python3, setpriv, and the free ports 8000, 3000 and 2375. It takes about half an
# hour. EVOLVE_CHECK_ONLY='restored|killed' checks these functions alone, behind the beginning.
#
# It runs everything as root from a clone under umask 077, then the beginning and the end as an ordinary user under 077 and 022
# and as root under 022. Project and image are called evolve-check: yours keep their containers, volumes and image.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d "${TMPDIR:-/var/tmp}/evolve-containers.XXXXXX")}
# No account has it: a signal to every process of nobody, under whom .ci/run tests, does not reach a command of Compose.
ordinary_user=64200
export COMPOSE_PROJECT_NAME=evolve-check EVOLVE_IMAGE=evolve-check:0.1.0 COMPOSE_PROGRESS=plain BUILDKIT_PROGRESS=plain
failed=0 passed=0

# shellcheck source=scripts/containers/common.sh
. "$top/scripts/containers/common.sh"
# shellcheck source=scripts/containers/promises.sh
. "$top/scripts/containers/promises.sh"
# shellcheck source=scripts/containers/faults.sh
. "$top/scripts/containers/faults.sh"

main() {
    [ "$(id -u)" -eq 0 ] || { echo "Only root can kill the processes of containers: run it as root." >&2; exit 2; }
    chmod 755 "$work"
    trap 'leave' EXIT
    everything root 077
    beginning "$ordinary_user" 077
    beginning "$ordinary_user" 022
    beginning root 022
    echo "$passed passed, $failed failed; logs are in $work/logs"
    [ "$failed" -eq 0 ]
}

everything() { # USER UMASK
    start_over "$@"
    beginning_promises
    promise "the image adds at most 170 MB to its base" image_is_small
    promise "the image tells its licence, version and base" image_has_labels
    promise "nothing of ours runs as root or can write its file system" containers_are_confined
    promise "a worker reaches Redis, and no other container, address or name" worker_reaches_redis_alone
    promise "six uploads of 81 MB at once do not end the API" large_uploads_are_survived
    fault_promises
    promise "upgrade.md, with a run under way" upgraded_under_way
    promise "grow.md: more workers" workers_grow
    promise "grow.md: more runners, and the workers stay" runners_grow
    promise "deploy.md: policies of one's own" own_policies
    promise "deploy.md: metrics; the numbers arrive in Prometheus, and Grafana answers" observability
    promise "operate.md: back up and restore onto an empty database" restored
    ending_promises
}

beginning() { # USER UMASK
    start_over "$@"
    beginning_promises
    promise "operate.md: back up" backed_up
    ending_promises
}

beginning_promises() {
    promise "deploy.md: from a clone to a healthy service" deployed
    promise "deploy.md: the first key and the first run over REST" first_run
    promise "the dashboard: sign in, and the page of the run" dashboard_page
}

ending_promises() {
    promise "no secret is in a log" logs_hold_no_secret
    promise "operate.md: stop ends every container with 0, and start continues" stopped_and_started
    promise "no untagged image is left by a second build" second_build_leaves_nothing
    as_user docker compose down --volumes >"$work/down.log" 2>&1 || { cat "$work/down.log"; failed=$((failed + 1)); }
}

fault_promises() {
    for service in postgres redis api runner worker; do
        promise "kill -9 of $service: the run continues" killed "$service"
    done
    promise "power failure: the run continues by itself" power_failure
}

leave() {
    if [ -d "${clone:-}" ]; then (as_user docker compose down --volumes >/dev/null 2>&1) || true; fi
}

main

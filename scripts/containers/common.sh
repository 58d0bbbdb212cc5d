# shellcheck shell=bash
# How promises are run and reported, and how they speak to the service.
PATIENCE_SECONDS=240

start_over() { # USER UMASK: a clone of HEAD in a folder of the user's
    user=$1 mask=$2
    variant="$([ "$user" = root ] && echo root || echo user)-$mask"
    clone="$work/$variant/evolve"
    rm -rf "${work:?}/$variant"
    mkdir -p "$work/$variant/home" "$work/logs"
    [ "$user" = root ] || chown -R "$user:$user" "$work/$variant"
    printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"
    export GIT_CONFIG_GLOBAL="$work/gitconfig"
    docker image rm --force "$EVOLVE_IMAGE" >/dev/null 2>&1 || true
    echo "== $variant"
    cd "$work/$variant"
    as_user git clone --quiet --no-local "$top" "$clone"
    cd "$clone"
}

as_user() { # COMMAND...: as the user of this round, who may speak to Docker
    if [ "$user" = root ]; then (umask "$mask" && "$@"); return; fi
    (umask "$mask" && setpriv --reuid="$user" --regid="$user" --groups="$(stat -c %g /var/run/docker.sock)" -- \
        env HOME="$work/$variant/home" "$@")
}

promise() { # WORDS FUNCTION ARGUMENTS...: run it in a shell of its own, and report
    local words=$1 log="$work/logs/$variant-${*:2}.log" code started=$SECONDS
    log=${log// /-}
    shift
    if [[ ! $1 =~ ^(deployed|first_run|${EVOLVE_CHECK_ONLY:-.*})$ ]]; then return; fi
    set +e
    (set -eux -o pipefail; "$@") >"$log" 2>&1
    code=$?
    set -e
    if [ "$code" -eq 0 ]; then
        passed=$((passed + 1))
        echo "PASS $words ($((SECONDS - started)) s)"
    else
        failed=$((failed + 1))
        echo "FAIL $words ($((SECONDS - started)) s): $log"
        tail -n 15 "$log" | cut -c 1-300 | sed 's/^/     /'
    fi
}

documented() { # PAGE HEADING NUMBER [OLD=NEW ...]: print the commands of a page
    python3 "$top/scripts/containers/documented.py" "$@"
}

follow() { # the same; run them, as the user, in the clone
    documented "$@" >"$work/$variant/commands"
    chmod a+r "$work/$variant/commands"
    as_user env KEY="$(key)" bash -eux -o pipefail "$work/$variant/commands"
}

follow_docker() { # the same; those for Compose alone, where a page has others beside them
    documented "$@" | grep '^docker compose' >"$work/$variant/commands"
    chmod a+r "$work/$variant/commands"
    as_user bash -eux -o pipefail "$work/$variant/commands"
}

key() { cat "$work/$variant/key" 2>/dev/null || true; }

ask() { # PATH [CURL ARGUMENTS...]: what the API answers
    curl -sS --fail-with-body --max-time 20 -H "Authorization: Bearer $(key)" -H "Content-Type: application/json" "http://localhost:8000$1" "${@:2}"
}

field() { # EXPRESSION: of the JSON on stdin, which is called it
    python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"
}

no_line() { # GREP ARGUMENTS...: whether grep finds none. `! grep` would not end a promise: set -e passes over what is negated
    local code=0
    grep "$@" || code=$?
    [ "$code" -eq 1 ]
}

eventually() { # COMMAND...: until it succeeds
    local until=$((SECONDS + PATIENCE_SECONDS))
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || { echo "not within $PATIENCE_SECONDS s: $*"; return 1; }
        sleep 1
    done
}

start_run() { # EVALUATIONS: its id
    ask /v1/runs --data "{\"problem\": \"circle-packing-26\", \"config\": {\"budget\": {\"evaluations\": $1}}}" | field 'it["id"]'
}

evaluated() { # RUN: how many candidates
    ask "/v1/runs/$1" | field 'it["progress"]["evaluated"]'
}

has_more_than() { # RUN COUNT: whether so many are evaluated
    local count
    count=$(evaluated "$1") && [ "$count" -gt "$2" ]
}

advances() { # RUN: it does, from where it is
    local before
    eventually evaluated "$1" >/dev/null
    before=$(evaluated "$1")
    eventually has_more_than "$1" "$((before + 3))"
}

is_in_state() { # RUN STATE
    [ "$(ask "/v1/runs/$1" | field 'it["state"]')" = "$2" ]
}

ids() { as_user docker compose ps --all --quiet "$@"; }

of_containers() { # FORMAT: of every container of the project
    # shellcheck disable=SC2046
    docker inspect --format "$1" $(ids)
}

all_healthy() { # every service runs and is healthy; what ends has ended well
    of_containers '{{.Name}} {{.State.Status}} {{.State.ExitCode}} {{with .State.Health}}{{.Status}}{{end}}' >"$work/$variant/states" || return 1
    cat "$work/$variant/states"
    no_line -vE ' running 0 healthy$|-(migrate|first-key)-[0-9]+ exited 0 ?$' "$work/$variant/states"
}

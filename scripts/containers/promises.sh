# shellcheck shell=bash
# What the pages promise of a service that nobody disturbs. Each function fails where the promise does not hold.

deployed() {
    follow deploy.md "Run the service with Docker Compose" 1
    all_healthy
    [ "$(stat -c %u .env)" = "$(stat -c %u .)" ]
}

first_run() {
    local run
    {
        documented deploy.md "The first run" 1
        # shellcheck disable=SC2016
        echo 'printf %s "$KEY" > ../key'
    } >"$work/$variant/commands"
    as_user bash -eu -o pipefail "$work/$variant/commands"
    follow deploy.md "The first run" 2
    run=$(ask /v1/runs | field 'it["items"][0]["id"]')
    echo "$run" >"$work/$variant/run"
    eventually is_in_state "$run" succeeded
    follow deploy.md "The first run" 3 RUN="$run" | grep "run.finished"
}

dashboard_page() {
    local run jar="$work/$variant/cookies"
    run=$(cat "$work/$variant/run")
    ask /v1/session --data "{\"key\": \"$(key)\"}" --cookie-jar "$jar" --output /dev/null
    curl -sS --fail --cookie "$jar" "http://localhost:8000/runs/$run" >"$work/$variant/page.html"
    grep -q "circle-packing-26" "$work/$variant/page.html"
    # Without a session it asks for a key.
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "http://localhost:8000/runs/$run")" = 303 ]
}

image_is_small() {
    local image base
    image=$(docker image inspect --format '{{.Size}}' "$EVOLVE_IMAGE")
    base=$(docker image inspect --format '{{.Size}}' "$(sed -n 's/^FROM \(python:[^ ]*\)$/\1/p' Dockerfile)")
    echo "adds $(((image - base) / 1000000)) MB"
    [ "$((image - base))" -le 170000000 ]
}

image_has_labels() {
    docker image inspect --format '{{json .Config.Labels}}' "$EVOLVE_IMAGE" | field \
        '[it["org.opencontainers.image." + name] or exit(1) for name in ("licenses", "version", "base.name")]'
}

containers_are_confined() {
    local service
    for service in api runner worker; do
        as_user docker compose exec -T "$service" python -c '
import os, pathlib
assert os.getuid() != 0
status = dict(line.split(":\t", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
assert status["CapEff"] == status["CapPrm"] == status["CapBnd"] == "0" * 16, status["CapEff"]
assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
try:
    pathlib.Path("/opt/evolve/written").touch()
except OSError as error:
    assert error.errno in (13, 30), error
else:
    raise AssertionError("the file system can be written")'
    done
}

worker_reaches_redis_alone() {
    local addresses gateways listener result=0
    # shellcheck disable=SC2046
    addresses=$(docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}' $(ids api runner postgres))
    gateways=$(docker network ls --quiet --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
        | xargs docker network inspect --format '{{range .IPAM.Config}}{{.Gateway}} {{end}}')
    python3 -m http.server 2375 --bind 0.0.0.0 >"$work/$variant/listener.log" 2>&1 &
    listener=$!
    eventually curl -sS -o /dev/null http://127.0.0.1:2375
    # shellcheck disable=SC2086
    as_user docker compose exec -T worker python - redis api runner postgres $addresses $gateways $(hostname -I) \
        <"$top/scripts/containers/reach.py" || result=$?
    kill "$listener"
    return "$result"
}

large_uploads_are_survived() {
    local restarts number uploads=()
    restarts=$(docker inspect --format '{{.RestartCount}}' "$(ids api)")
    python3 -c 'import json; print(json.dumps({"files": {"main.py": "", "large.txt": "x" * 81_000_000}}))' >"$work/$variant/large.json"
    for number in 1 2 3 4 5 6; do
        curl -sS --max-time 120 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $(key)" -H "Content-Type: application/json" \
            --data-binary "@$work/$variant/large.json" http://localhost:8000/v1/problems >"$work/$variant/upload-$number" &
        uploads+=($!)
    done
    wait "${uploads[@]}"
    rm "$work/$variant/large.json"
    no_line -vhE '^(422|503)$' "$work/$variant"/upload-*
    [ "$(docker inspect --format '{{.RestartCount}}' "$(ids api)")" = "$restarts" ]
    ask "/v1/runs"
}

workers_grow() {
    local run
    run=$(start_run 100000)
    follow grow.md "More workers on one machine" 1
    [ "$(ids worker | wc -l)" -eq 4 ]
    all_healthy
    advances "$run"
    ask "/v1/runs/$run/cancel" --data '{}'
}

runners_grow() {
    follow grow.md "More runners" 1
    [ "$(ids runner | wc -l)" -eq 3 ]
    [ "$(ids worker | wc -l)" -eq 4 ]
    as_user docker compose up --detach --wait
    [ "$(ids runner | wc -l)" -eq 3 ]
    all_healthy
}

own_policies() {
    follow deploy.md "Policies of your own" 1
    as_user sed -i 's/^name = "vpo"/name = "mine"/' policies.toml
    follow deploy.md "Policies of your own" 2
    eventually all_healthy
    ask /v1/policies | field '"mine" in [policy["name"] for policy in it["items"]] or exit(1)'
    # A tracked file that was edited would be in the way of the next upgrade.
    [ -z "$(as_user git status --porcelain --untracked-files=no)" ]
    as_user git check-ignore policies.toml
    as_user docker compose exec -T runner python -c 'import socket; socket.gethostbyname("host.docker.internal")'
}

targets_are_up() {
    as_user docker compose exec -T prometheus wget -qO- "http://127.0.0.1:9090/api/v1/targets?state=active" | field \
        '{(it["labels"]["job"], it["health"]) for it in it["data"]["activeTargets"]} >= {("evolve-api", "up"), ("evolve-runner", "up")} or exit(1)'
}

series_arrive() {
    as_user docker compose exec -T prometheus wget -qO- "http://127.0.0.1:9090/api/v1/query?query=max(evolve_worker_slots)" | field \
        'float(it["data"]["result"][0]["value"][1]) > 0 or exit(1)'
}

observability() {
    follow deploy.md "Metrics" 1
    eventually targets_are_up
    eventually series_arrive
    curl -sS --fail http://localhost:3000/api/health
    all_healthy
}

backed_up() {
    follow_docker operate.md "Back up" 1
    [ "$(stat -c '%a %u' backups/evolve-2026-03-01.backup)" = "600 $(sed -n 's/^EVOLVE_UID=//p' .env)" ]
}

restored() {
    local run count
    run=$(start_run 400)
    eventually has_more_than "$run" 50
    backed_up
    count=$(evaluated "$run")
    as_user docker compose down --volumes
    follow_docker operate.md "Restore" 1
    as_user docker compose up --detach --wait
    is_in_state "$(cat "$work/$variant/run")" succeeded
    eventually is_in_state "$run" succeeded
    [ "$(evaluated "$run")" -ge "$count" ]
}

upgraded_under_way() {
    local run image
    run=$(start_run 100000)
    advances "$run"
    image=$(docker inspect --format '{{.Image}}' "$(ids runner)")
    follow upgrade.md "Upgrade" 1
    test -s backups/before.backup
    # Another commit makes another image.
    echo "EVOLVE_REVISION=$(date +%s)" >>.env
    follow upgrade.md "Upgrade" 2
    [ "$(docker inspect --format '{{.Image}}' "$(ids runner)")" != "$image" ]
    all_healthy
    advances "$run"
    ask "/v1/runs/$run/cancel" --data '{}'
}

logs_hold_no_secret() {
    local file
    as_user docker compose logs --no-color >"$work/$variant/all.log"
    for file in secrets/* "$work/$variant/key"; do
        no_line -qF -- "$(tail -n 1 "$file" | sed 's/^requirepass //')" "$work/$variant/all.log" || { echo "$file is in a log"; return 1; }
    done
}

second_build_leaves_nothing() {
    local before
    before=$(docker images --quiet --filter dangling=true | sort)
    as_user docker compose build
    [ "$(docker images --quiet --filter dangling=true | sort)" = "$before" ]
}

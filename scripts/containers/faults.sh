# shellcheck shell=bash
# Kills, a power failure, a stop. `docker kill` counts as a stop by hand, so processes are killed instead.

run_under_way() { # the id of a run that advances
    local run
    run=$(start_run 100000)
    advances "$run" >&2
    echo "$run"
}

killed() { # SERVICE
    local run container restarts
    run=$(run_under_way)
    container=$(ids "$1" | head -n 1)
    restarts=$(docker inspect --format '{{.RestartCount}}' "$container")
    kill -9 "$(docker inspect --format '{{.State.Pid}}' "$container")"
    eventually has_restarted "$container" "$restarts"
    eventually all_healthy
    advances "$run"
    ask "/v1/runs/$run/cancel" --data '{}'
    eventually is_in_state "$run" cancelled
}

has_restarted() { # CONTAINER COUNT
    [ "$(docker inspect --format '{{.RestartCount}}' "$1")" -gt "$2" ]
}

power_failure() {
    local run before
    run=$(run_under_way)
    before=$(evaluated "$run")
    # shellcheck disable=SC2046
    kill -9 $(of_containers '{{.State.Pid}}' | grep -v '^0$')
    eventually all_healthy
    [ "$(evaluated "$run")" -ge "$before" ]
    advances "$run"
    ask "/v1/runs/$run/cancel" --data '{}'
}

stopped_and_started() {
    local run
    run=$(run_under_way)
    documented operate.md "Stop and start" 1 | head -n 1 >"$work/$variant/commands"
    as_user bash -eux "$work/$variant/commands"
    of_containers '{{.Name}} {{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}' | tee "$work/$variant/stopped"
    no_line -v ' exited 0 false$' "$work/$variant/stopped"
    follow operate.md "Stop and start" 1
    as_user docker compose logs --no-color --since 2m postgres | no_line "was not properly shut down"
    advances "$run"
    ask "/v1/runs/$run/cancel" --data '{}'
}

#!/bin/sh
# Prepares the folder of docker-compose.yml for its first start:
#
#   secrets/   passwords and keys that nobody else may know, each file readable by its owner alone
#   backups/   an empty folder of the same owner, for backups
#   .env       who that owner is; containers run as that user
#   deploy/    the files that containers read, readable for every user
#
# It changes nothing that exists, except these modes, so that you can run it again.
#
#   scripts/make_secrets.sh [FOLDER]      FOLDER: where docker-compose.yml is; without it, this repository
set -eu
umask 077

top=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder="$top/secrets"

main() {
    mkdir -p "$folder" "$top/backups"
    make_secrets
    choose_user
    open_configuration
    echo "All secrets are in $folder. Keep a copy of evolve_api__secret: without it no key is valid any more."
}

make_secrets() {
    random | keep postgres_password
    random | keep redis_password
    random | keep evolve_api__secret
    random | keep vllm_api_key
    random | keep grafana_password
    printf 'postgresql://evolve:%s@postgres:5432/evolve' "$(cat "$folder/postgres_password")" | keep evolve_database__url
    printf 'redis://:%s@redis:6379/0' "$(cat "$folder/redis_password")" | keep evolve_queue__url
    # Everything in it is sent again when it is lost, so nothing is written; when it is full it says so and drops nothing.
    printf '%s\n' "requirepass $(cat "$folder/redis_password")" 'bind * -::*' 'dir /data' 'save ""' 'appendonly no' \
        'maxmemory 768mb' 'maxmemory-policy noeviction' | keep redis.conf
}

random() { # 48 characters that need no quoting in an address or a file
    LC_ALL=C tr -dc 'A-Za-z0-9' </dev/urandom | head -c 48
}

keep() { # NAME: from stdin, unless it is there; never half of it
    if [ -s "$folder/$1" ]; then cat >/dev/null; return; fi
    cat >"$folder/.$1.new"
    test -s "$folder/.$1.new" || { echo "secrets/$1 cannot be made" >&2; exit 1; }
    mv "$folder/.$1.new" "$folder/$1"
    echo "made secrets/$1"
}

choose_user() { # containers run as the owner of the secrets; when root runs this, as user 999, unless .env has another
    uid=$(id -u) gid=$(id -g)
    if [ "$uid" -eq 0 ]; then
        uid=$(variable EVOLVE_UID 999) gid=$(variable EVOLVE_GID 999)
        chown -R "$uid:$gid" "$folder" "$top/backups"
    fi
    set_variable EVOLVE_UID "$uid"
    set_variable EVOLVE_GID "$gid"
    # Docker refuses a container more cores than the machine has.
    if [ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ]; then
        set_variable EVOLVE_CPUS 1
        set_variable EVOLVE_WORKER_CPUS 1
    fi
    # Compose reads .env as whoever runs it: after sudo that is the owner of the folder.
    if [ "$(id -u)" -eq 0 ]; then chown "$(stat -c %u:%g "$top")" "$top/.env"; fi
}

variable() { # NAME DEFAULT: its value in .env
    value=$(sed -n "s/^$1=//p" "$top/.env" 2>/dev/null | tail -n 1)
    echo "${value:-$2}"
}

set_variable() { # NAME VALUE: in .env, unless it is there; a last line may lack its end
    touch "$top/.env"
    if grep -q "^$1=" "$top/.env"; then return; fi
    if [ -n "$(tail -c 1 "$top/.env")" ]; then echo >>"$top/.env"; fi
    echo "$1=$2" >>"$top/.env"
}

open_configuration() { # containers read these files as users of their own, also from a clone under umask 077
    for name in compose prometheus grafana; do
        if [ -d "$top/deploy/$name" ]; then chmod -R go+rX "$top/deploy/$name"; fi
    done
}

main

#!/bin/sh
# Writes what docker-compose.yml needs and nobody else may know into secrets/, each file readable by its owner alone, and
# into .env who that owner is. What is there already is left as it is, so that running it again is safe.
#
#   scripts/make_secrets.sh [FOLDER]      FOLDER: where docker-compose.yml lies; else that of this script's repository
set -eu
umask 077

top=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder="$top/secrets"
mkdir -p "$folder"

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

# Containers run as the owner of these files; when that is root, as a user that is nobody here.
uid=$(id -u) gid=$(id -g)
if [ "$uid" -eq 0 ]; then
    uid=999 gid=999
    chown -R "$uid:$gid" "$folder"
fi
touch "$top/.env"
for line in "EVOLVE_UID=$uid" "EVOLVE_GID=$gid"; do
    if ! grep -q "^${line%%=*}=" "$top/.env"; then echo "$line" >>"$top/.env"; fi
done
echo "All secrets are in $folder. Keep a copy of evolve_api__secret: without it no key is valid any more."

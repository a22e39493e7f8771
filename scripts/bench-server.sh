#!/usr/bin/env bash
# Requests per second of `POST /limit`, against a handler that does nothing on the same HTTP stack,
# measured in turn. Needs cargo and wrk (Debian: apt-get install wrk). Loopback only, under a minute.
#
#   scripts/bench-server.sh [ROUNDS] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5} seconds=${2:-2}
command -v wrk >/dev/null || { echo "wrk is missing: apt-get install wrk" >&2; exit 1; }

cargo build --quiet --release -p tollgate-server --bin tollgate --example bare
bin=${CARGO_TARGET_DIR:-target}/release
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$dir"' EXIT

cat >"$dir/allowed.yaml" <<'YAML'
policies: { default: { quotas: 1000000000/s burst 1000000000 } }
YAML
cat >"$dir/denied.yaml" <<'YAML'
policies: { default: { quotas: 1/day } }
YAML
cat >"$dir/post.lua" <<'LUA'
wrk.method = "POST"
wrk.headers["X-Client-Key"] = "user-123"
LUA

# start NAME COMMAND...: runs the command and waits for the line that says where it listens.
start() {
    local name=$1
    shift
    : >"$dir/$name.out"
    TOLLGATE_LISTEN__HTTP=127.0.0.1:0 TOLLGATE_LISTEN__GRPC=127.0.0.1:0 \
        TOLLGATE_LISTEN__METRICS=127.0.0.1:0 TOLLGATE_LOG__LEVEL=warn "$@" >>"$dir/$name.out" &
    pids+=($!)
    until grep -q '^listening' "$dir/$name.out"; do
        kill -0 $! || exit 1
        sleep 0.1
    done
}
start bare "$bin/examples/bare"
start allowed "$bin/tollgate" serve --config "$dir/allowed.yaml"
start denied "$bin/tollgate" serve --config "$dir/denied.yaml"
TOLLGATE_METRICS__ENABLED=false \
    start uncounted "$bin/tollgate" serve --config "$dir/allowed.yaml"

measure() {
    local url
    url=http://$(sed -n 's/.*http=\([^ ]*\).*/\1/p' "$dir/$1.out")/limit
    wrk -t1 -c16 -d"${seconds}s" -s "$dir/post.lua" "$url" |
        sed -n 's/^Requests\/sec: *//p' >>"$dir/$1.rps"
}
for ((round = 0; round <= rounds; round++)); do
    for name in bare allowed denied uncounted; do
        measure "$name"
        # The first round warms up and does not count.
        ((round)) || : >"$dir/$name.rps"
    done
done

median() { sort -n | sed -n "$((rounds / 2 + 1))p"; }
# The ratio is the median of the rounds' own ratios, so that what slows a whole round does not count.
printf '%-10s %12s %8s\n' handler requests/s ratio
for name in bare allowed denied uncounted; do
    printf '%-10s %12.0f %8.2f\n' "$name" "$(median <"$dir/$name.rps")" \
        "$(paste "$dir/$name.rps" "$dir/bare.rps" | awk '{ print $1 / $2 }' | median)"
done

#!/usr/bin/env bash
# Counts the instructions of a decision in memory, by workload, and fails if one takes more than its
# bound. Counts repeat where times do not: the same build counts the same, whatever the machine is
# doing.
set -euo pipefail
cd "$(dirname "$0")/.."

# Workload and bound. Lower a bound when the code gets quicker; raise one only with a reason.
bounds="
hot-allowed     290
hot-denied      310
many            330
fixed-window    400
sliding-window  440
new             1080
flood-of-1e3    7500
flood-of-1e5    7500
"

binary=$(cargo bench --quiet -p tollgate --bench instructions --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*instructions[^"]*\)".*/\1/p' | tail -n 1)

count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*measured*' \
        "$binary" "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}

failed=0
while read -r workload bound; do
    [ -n "$workload" ] || continue
    each=$(($(count "$workload" 100000) / 100000))
    verdict=ok
    if ((each > bound)); then
        verdict="more than $bound"
        failed=1
    fi
    printf '%-16s %5d instructions a decision: %s\n' "$workload" "$each" "$verdict"
done <<<"$bounds"
exit "$failed"

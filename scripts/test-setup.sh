#!/usr/bin/env bash
# Installs what the tests need beside Rust, on Debian, as root or with sudo: curl, valgrind, promtool
# (from the package prometheus), and a Python environment in .venv with clients that this project did
# not write. Quick when all of it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
command -v curl >/dev/null || packages+=(curl)
command -v promtool >/dev/null || packages+=(prometheus)
command -v valgrind >/dev/null || packages+=(valgrind)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)

if ((${#packages[@]})); then
    sudo=()
    ((EUID == 0)) || sudo=(sudo)
    # Without this, the package starts a Prometheus of its own on a machine that runs services.
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    "${sudo[@]}" apt-get update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

requirements=scripts/test-requirements.txt
if ! cmp -s "$requirements" .venv/requirements.txt; then
    python3 -m venv --clear .venv
    .venv/bin/pip install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" .venv/requirements.txt
fi

#!/usr/bin/env bash
# Installs what the tests need, and passes them: format, lints, tests in debug and as shipped, the
# models of the store, the documentation and its links, and the instruction counts.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "what the tests need"
scripts/test-setup.sh

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

step "tests, debug"
cargo test --workspace --all-features

step "tests, as shipped"
cargo test --workspace --all-features --profile testrelease --lib --bins --tests

step "models of the store"
RUSTFLAGS="--cfg tollgate_loom -D warnings" CARGO_TARGET_DIR=target/loom \
    cargo test -p tollgate --lib --profile testrelease loom_

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --quiet
python3 scripts/check-links.py

step "instructions"
scripts/instructions.sh

step "all passed"

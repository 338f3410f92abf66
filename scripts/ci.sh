#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What must pass before a merge. Without --full: lint, format check, dev build and all its tests.
# With --full also the tsan build and all its tests, and the release build with the rules about the
# client library, the end-to-end tests and the demo, and a sample of ./dev mutate.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

full=${1:-}
[ -z "$full" ] || [ "$full" = --full ] || die "ci: unknown argument $full"

step() { note "== $*"; }

need_setup
step "lint"
python3 tests/lint/run.py
step "format"
./dev format --check
step "dev: build and all tests"
configure_and_build dev
# Tests that would take minutes do their whole work only with --full, and in this build.
GPUAAS_TEST_FULL=${full:+1} run_tests dev
if [ -n "$full" ]; then
    step "clang-tidy"
    scripts/tidy.py build/dev
    step "tsan: build and all tests"
    configure_and_build tsan
    run_tests tsan
    step "release: build, lint and end-to-end tests"
    configure_and_build release
    python3 tests/lint/run.py --release build/release
    run_tests release -L 'lint|e2e|faults'
    step "what ./dev gpu does, with the software GPU in the place of NVIDIA's driver"
    folder=$(mktemp -d)
    scripts/gpu.py --driver "$PWD/build/release/lib/softgpu/libcuda.so.1" --out "$folder/gpu" \
        >"$folder/log" || { cat "$folder/log"; die "./dev gpu fails"; }
    rm -r "$folder"
    step "demo"
    ./dev demo >/dev/null
    step "faults that tests notice: a sample"
    # A small sample: it shows only a share that is far too low.
    ./dev mutate --fresh --sample 30 --minutes 60 --least 60
fi
note "ci: passed"

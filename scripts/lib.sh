# SPDX-License-Identifier: Apache-2.0
# Functions of ./dev and its scripts, sourced with the repository root as working directory.
# shellcheck shell=bash

note() { printf '%s\n' "$*" >&2; }

die() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# quietly WHAT LOG COMMAND...: runs what has much to say, for its log alone. On a terminal one line
# tells how far it is ("[N/M]" at the beginning of its last such line); elsewhere there is a line
# every 30 s. If it fails, its last lines and the log's path follow, and its status is returned.
quietly() {
    local what=$1 log=$2 began=$SECONDS told=0 status=0 pid last
    shift 2
    mkdir -p "$(dirname "$log")"
    set -m # a process group of its own, which Ctrl-C does not reach
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    trap 'kill -- "-$pid" 2>/dev/null; wait "$pid"; exit 130' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        last=$(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1) || true
        last=${last//[\[\]]/}
        last=${last/\// of }
        if [ -t 2 ]; then
            printf '\r\033[K%s: %s%d s' "$what" "${last:+$last, }" $((SECONDS - began)) >&2
        elif [ $((SECONDS - began - told)) -ge 30 ]; then
            told=$((SECONDS - began))
            note "$what: ${last:+$last, }$told s"
        fi
        sleep 0.2
    done
    wait "$pid" || status=$?
    trap - INT TERM
    [ ! -t 2 ] || printf '\r\033[K' >&2
    if [ "$status" -ne 0 ]; then
        note "$what: failed after $((SECONDS - began)) s; the end of $log:"
        tail -n 40 "$log" >&2
        note "$what: failed; all of it is in $log"
    else
        note "$what: done in $((SECONDS - began)) s (log: $log)"
    fi
    return "$status"
}

check_preset() {
    case $1 in
    dev | tsan | release) ;;
    *) die "unknown preset: $1 (dev, tsan or release)" ;;
    esac
}

# Quick when nothing is missing: one query of the package database and a look at the toolkit.
need_setup() { scripts/setup.sh --quiet; }

# Jobs: the cores, but a sanitized compile may need a gigabyte, so not more than memory allows.
build_jobs() {
    local cores memory_gb
    cores=$(nproc)
    memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
    [ "$memory_gb" -ge 1 ] || memory_gb=1
    echo $((cores < memory_gb ? cores : memory_gb))
}

# configure_and_build PRESET [TARGETS]
configure_and_build() {
    local preset=$1
    shift
    if [ ! -e "build/$preset/build.ninja" ]; then
        quietly "configuring $preset" "build/log/configure-$preset.log" cmake --preset "$preset"
    fi
    quietly "building $preset" "build/log/build-$preset.log" \
        cmake --build "build/$preset" -j "$(build_jobs)" ${1:+--target "$@"}
}

# build_for_tests PRESET NAME: what the tests whose names match need (scripts/changed/needs.py)
build_for_tests() {
    local targets
    configure_and_build "$1" build.ninja
    targets=$(python3 scripts/changed --build "build/$1" --needs "$2")
    # shellcheck disable=SC2086
    [ -z "$targets" ] || configure_and_build "$1" $targets
}

# run_tests PRESET [CTEST ARGUMENTS]: ends with ctest's own summary. Three times as many at once as
# there are processors, because tests wait two thirds of their time (gpuaas_test_takes); not with
# ThreadSanitizer, under which they compute.
run_tests() {
    local preset=$1 jobs
    shift
    jobs=$(build_jobs)
    [ "$preset" = tsan ] || jobs=$((3 * jobs))
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

# Prints the root of the CUDA toolkit, or nothing; looked-at places go to the array cuda_tried.
# Same order as cmake/CudaToolkit.cmake.
find_cuda() {
    local home nvcc
    cuda_tried=()
    nvcc=$(command -v nvcc || true)
    [ -z "$nvcc" ] || nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    for home in "${CUDA_HOME:-}" "$nvcc" /usr/local/cuda; do
        [ -n "$home" ] || continue
        cuda_tried+=("$home")
        if [ -e "$home/include/cuda.h" ] && [ -x "$home/bin/nvcc" ]; then
            cuda_home=$home
            return 0
        fi
    done
    return 1
}

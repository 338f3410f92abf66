#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo: two servers on this machine, each with two software GPUs, and CUDA programs, compiled
# by plain nvcc, that use all four through GPUAAS_SERVERS. Cleans up after itself.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

hosts=(127.0.0.1 127.0.0.2)
build=$PWD/build/release
out=$PWD/build/demo
servers=() # process ids
folder=""

cleanup() {
    local pid
    for pid in "${servers[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${servers[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    [ -z "$folder" ] || rm -rf "$folder"
}

bold="" plain=""
if [ -t 1 ]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# 9955 is the port that a client assumes; where something else listens there, any free one.
choose_port() {
    if (exec 3<>"/dev/tcp/$1/9955") 2>/dev/null; then echo 0; else echo 9955; fi
}

write_config() { # HOST NUMBER
    local sizes=("1GiB 4" "2GiB 8" "3GiB 6" "4GiB 16") i gpu
    printf '[server]\nlisten = tcp://%s:%s\ndata_ports = 0\n' "$1" "$(choose_port "$1")"
    for i in 0 1; do
        gpu=${sizes[$((2 * $2 + i))]}
        printf '\n[gpu.%d]\ndriver = soft\nname = Soft GPU %d of %s\nmemory = %s\nsms = %s\n' \
            "$i" "$i" "$1" "${gpu% *}" "${gpu#* }"
    done
}

start_servers() {
    local n host
    for n in "${!hosts[@]}"; do
        host=${hosts[$n]}
        write_config "$host" "$n" >"$folder/$host.conf"
        "$build/bin/gpuaasd" --config "$folder/$host.conf" 2>"$folder/$host.log" &
        servers+=($!)
    done
    addresses=()
    for n in "${!hosts[@]}"; do
        addresses+=("$(wait_ready "${servers[$n]}" "$folder/${hosts[$n]}.log")")
        note "server ${servers[$n]} is ready at ${addresses[$n]}"
    done
}

wait_ready() { # PID LOG -> HOST:PORT, or HOST if the port is the usual one
    local address="" tries
    for tries in $(seq 200); do
        address=$(sed -n 's/.* ready tcp:\/\/\([^ ]*\).*/\1/p' "$2" | head -n 1)
        [ -z "$address" ] || break
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$address" ] || die "a server did not start: $(cat "$2")"
    echo "${address%:9955}"
}

compile() { # SOURCES: into $out, unless what is there is newer
    local source program number=0
    for source in "$@"; do
        program=$out/$(basename "$source" .cu)
        number=$((number + 1))
        if [ ! "$program" -nt "$source" ]; then
            echo "[$number/$#] nvcc $source -o $program"
            "$cuda_home/bin/nvcc" "$source" -o "$program" || return
        fi
    done
}

# The trace of the client library says which devices a program used, and what that took.
run() { # PROGRAM [ARGUMENTS]
    local program=$1 begin end
    shift
    say "\$ GPUAAS_SERVERS=$list ./$program $*"
    begin=$(date +%s%N)
    LD_LIBRARY_PATH=$build/lib/gpuaas GPUAAS_SERVERS=$list GPUAAS_TRACE=summary \
        "$out/$program" "$@" 2>"$folder/trace" ||
        die "$program failed: $(cat "$folder/trace"); the servers' logs: $(cat "$folder"/*.log)"
    end=$(date +%s%N)
    printf -- '-- %d.%03d s in all; ' $(((end - begin) / 1000000000)) \
        $(((end - begin) / 1000000 % 1000))
    sed -n 's/.* trace: device \(.*\)/\1/p' "$folder/trace" | paste -sd ';' | sed 's/;/; /g' |
        sed 's/^$/used no device/; s/^\([0-9]\)/ran on device \1/; s/; \([0-9]\)/; device \1/g'
    sed -n 's/.* trace: \(calls .*\)/   \1/p' "$folder/trace"
}

need_setup
find_cuda
say "Building (release)"
configure_and_build release installed
say "Compiling the programs with plain nvcc"
mkdir -p "$out"
sources=(tests/kernels/{devices,vector_add,matrix_mul,nbody}.cu
    scripts/demo/{mandelbrot_picture,pi_on_all}.cu)
quietly "compiling ${#sources[@]} programs" build/log/demo.log compile "${sources[@]}"
trap cleanup EXIT
trap 'exit 130' INT TERM
folder=$(mktemp -d)
say "Starting two servers with two software GPUs each"
start_servers
list=$(IFS=, && echo "${addresses[*]}")

run devices
run vector_add
run matrix_mul
run nbody
run mandelbrot_picture 3
run pi_on_all
say "The demo is over: every program ran on the servers' GPUs, none knew of it."

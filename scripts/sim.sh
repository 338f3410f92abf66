#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev sim: the simulator (docs/simulator.md) and what is done with it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

sim=build/release/bin/gpuaas-sim

case ${1:-} in
run | golden | check | paper | mixes | pictures | scale) ;;
*)
    cat <<'END'
usage: ./dev sim run SCENARIO [OPTIONS]    simulate (gpuaas-sim --help: options)
       ./dev sim golden                    numbers that are known exactly
       ./dev sim check [--quick]           what would reveal a model that gives something away
             [--rigged]                    the same with simulators that cheat: all must be found
       ./dev sim paper [--quick] [ROW...]  the papers' rows about one GPU and one node
       ./dev sim mixes [--seed TEXT]       auto against the best fixed policy, on random mixes
       ./dev sim pictures                  draw what each policy does (docs/pictures)
       ./dev sim scale                     10,000 GPUs and 100,000 applications: memory and speed
END
    case ${1:-} in
    '' | help | -h | --help) exit 0 ;;
    *) die "unknown command: sim $1" ;;
    esac
    ;;
esac
need_setup
configure_and_build release gpuaas-sim >&2
case $1 in
run) exec "$sim" "$@" ;;
*) exec env PYTHONDONTWRITEBYTECODE=1 python3 sim/eval --sim "$sim" "$@" ;;
esac

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inside of vm.sh: what is tested of the rdma transport; with GPUAAS_TEST_FULL=1 all tests, but each
# as thorough as otherwise: every frame and byte is broken where processors are not emulated.
#   inside.sh BUILD KERNELS SANITIZE CUDA
set -eu
# Bounded, like every test; all of it by the machine's own limit (vm.sh -t).
full=${GPUAAS_TEST_FULL-}
[ "$full" = 1 ] || [ -n "${bounded-}" ] || exec env bounded=1 timeout -k 5 900 bash "$0" "$@"
unset GPUAAS_TEST_FULL
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1 CRITERION_JOBS=1 GPUAAS_TEST_TRANSPORT=rdma
build=$1 kernels=$2 sanitize=$3 cuda=$4

script() { # SCRIPT [TEST]...: all of its tests, or only these if not everything is wanted
    local name=$1 begun=$SECONDS status=0
    shift
    [ "$full" != 1 ] || set --
    python3 "$name" "$@" --build "$build" --kernels "$kernels" --sanitize "$sanitize" \
        --cuda "$cuda" || status=$?
    echo "$name: $((SECONDS - begun)) s"
    [ $status = 0 ] || [ $status = 77 ] # 77: skipped, this build breaks nothing
}

"$build/tests/test_transport" --filter '@(contract|rdma|reach)/*'
"$build/tests/test_server_one_sided"
[ "$full" != 1 ] || "$build/tests/test_server_slow" --filter 'slow/*'
script programs.py test_programs test_copies test_by_itself_and_by_name test_tcp_when_it_cannot_be \
    test_memory_that_cannot_be_registered test_backend_dies_while_it_moves_bytes test_resets
# Not cut.py: both ends have the same card, whose frames to itself pass no device that could drop
# them. Not restart.py and kill.py: what dies there is noticed by TCP, as over tcp.
faults=../faults
script $faults/frames.py test_frames_to_the_server test_frames_to_the_client
[ "$full" = 1 ] || exit 0
export GPUAAS_TEST_SHARED_MEMORY=0 # or copies do not go through the connection
script $faults/broken.py
unset GPUAAS_TEST_SHARED_MEMORY
script $faults/tickets.py
GPUAAS_TEST_FULL=1 script $faults/silence.py # the side connection tells, which is TCP
script measure.py                            # ./dev bench rdma does it, of the release build

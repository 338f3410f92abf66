#!/usr/bin/env bash
# Inside of vm.sh: what is tested of the rdma transport.
#   inside.sh BUILD KERNELS SANITIZE CUDA
set -eu
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1 CRITERION_JOBS=1
build=$1 kernels=$2 sanitize=$3 cuda=$4
"$build/tests/test_transport" --filter '@(contract|rdma|reach)/*'
"$build/tests/test_server_reach"
python3 programs.py --build "$build" --kernels "$kernels" --sanitize "$sanitize" --cuda "$cuda"
python3 measure.py --build "$build" --kernels "$kernels" --sanitize "$sanitize" --cuda "$cuda"

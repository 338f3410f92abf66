#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that answer a question by its number (a limit, an attribute): each number that cuda.h names
gets an answer, or the error below, which cuda.h documents; on a server's software GPU the same as
on one of the program's own process.
semantics S184"""

import os
import re
import sys
import tempfile

from lib import harness
from lib.harness import expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                                "arguments"))
import expected  # noqa: E402
import generate  # noqa: E402

DEVICES = "name=Soft A,memory=1GiB;name=Soft B,memory=1GiB"
FILL = "a5"  # of outputs before the call

INVALID, UNSUPPORTED_LIMIT, UNSUPPORTED_AFFINITY, NOT_SUPPORTED = 1, 215, 224, 801

# Call -> its enum, and the error of each number that has no answer
LAUNCHES = {name: INVALID for name in (
    "IGNORE", "PROGRAMMATIC_STREAM_SERIALIZATION", "PROGRAMMATIC_EVENT", "LAUNCH_COMPLETION_EVENT",
    "PREFERRED_SHARED_MEMORY_CARVEOUT")}  # "Valid for launches"
CALLS = {
    # there are no such limits on devices like these
    "cuCtxGetLimit": ("CUlimit", {name: UNSUPPORTED_LIMIT for name in (
        "DEV_RUNTIME_SYNC_DEPTH", "PERSISTING_L2_CACHE_SIZE", "SHMEM_SIZE")}),
    "cuDeviceGetAttribute": ("CUdevice_attribute", {}),
    "cuFuncGetAttribute": ("CUfunction_attribute", {}),
    "cuKernelGetAttribute": ("CUfunction_attribute", {}),
    "cuPointerGetAttribute": ("CUpointer_attribute", {"P2P_TOKENS": NOT_SUPPORTED}),
    "cuMemPoolGetAttribute": ("CUmemPool_attribute", {}),
    "cuDeviceGetP2PAttribute": ("CUdevice_P2PAttribute", {}),
    "cuDeviceGetGraphMemAttribute": ("CUgraphMem_attribute", {}),
    "cuDeviceGetExecAffinitySupport": ("CUexecAffinityType", {}),
    "cuCtxGetExecAffinity": ("CUexecAffinityType", {}),
    "cuMemRangeGetAttribute": ("CUmem_range_attribute", {}),
    # those that are not "Valid for streams"
    "cuStreamGetAttribute": ("CUlaunchAttributeID", {**LAUNCHES, **{name: INVALID for name in (
        "COOPERATIVE", "CLUSTER_DIMENSION", "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
        "PREFERRED_CLUSTER_DIMENSION", "DEVICE_UPDATABLE_KERNEL_NODE")}}),
    # those that are not "Valid for graph nodes"
    "cuGraphKernelNodeGetAttribute": ("CUlaunchAttributeID", {
        **LAUNCHES, "SYNCHRONIZATION_POLICY": INVALID}),
    "cuMemGetAllocationGranularity": ("CUmemAllocationGranularity_flags", {}),
}
# The first number that no cuda.h has, where some that we build with have fewer
NEWEST = {"cuCtxGetLimit": 10, "cuPointerGetAttribute": 22, "cuDeviceGetP2PAttribute": 6,
          "cuStreamGetAttribute": 17, "cuGraphKernelNodeGetAttribute": 17}
# Numbers behind those of the newest cuda.h: the error, and whether the output is 0 then
BEYOND = {"cuCtxGetLimit": (UNSUPPORTED_LIMIT, True), "cuCtxGetExecAffinity": (UNSUPPORTED_AFFINITY,
                                                                               False)}
# Values that differ through a server: addresses and handles; what needs memory that host and GPU
# have together
OTHERWISE = {
    "cuPointerGetAttribute": {"CONTEXT", "DEVICE_POINTER", "HOST_POINTER", "BUFFER_ID",
                              "RANGE_START_ADDR", "MAPPING_BASE_ADDR", "MEMORY_BLOCK_ID",
                              "MEMPOOL_HANDLE"},
    "cuDeviceGetAttribute": {"CONCURRENT_MANAGED_ACCESS", "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM",
                             "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST"},
    "cuDeviceGetP2PAttribute": {"NATIVE_ATOMIC_SUPPORTED"},
}


def members(text, enum):
    """[(name without what all names begin with, number)] of an enum of cuda.h; without ..._MAX."""
    body = re.search(rf"typedef enum {enum}\w*\s*{{(.*?)}}\s*{enum}\w*\s*;", text, re.S).group(1)
    body = re.sub(r"/\*.*?\*/|//[^\n]*|#if .*?#endif", "", body, flags=re.S)
    found, numbers = [], {}
    for item in filter(None, (part.strip() for part in body.split(","))):
        name, _, value = (part.strip() for part in item.partition("="))
        if not value:
            number = found[-1][1] + 1 if found else 0
        else:
            number = numbers[value] if value in numbers else int(value, 0)
        numbers[name] = number
        found.append((name, number))
    found = [(name, number) for name, number in found if not name.endswith("_MAX")]
    stem = os.path.commonprefix([name for name, _ in found])
    stem = stem[:stem.rindex("_") + 1]
    return [(name[len(stem):], number) for name, number in found]


def questions(build):
    """(call, name, number)"""
    with open(os.path.join(build.cuda, "include", "cuda.h"), encoding="latin-1") as file:
        text = file.read()
    out = []
    for call, (enum, _) in CALLS.items():
        known = members(text, enum)
        expect(len(known) >= 1, f"no members of {enum}")
        out += [(call, name, number) for name, number in known]
        behind = max(NEWEST.get(call, 0), max(number for _, number in known) + 1)
        out += [(call, f"number {number}", number) for number in range(behind, behind + 20)]
    return out


def answers(build, env, asked):
    """(call, number) -> (result, output)"""
    with tempfile.NamedTemporaryFile("w", prefix="gpuaas-e2e-") as file:
        file.writelines(f"{call} {number}\n" for call, _, number in asked)
        file.flush()
        process = harness.run_passing([build.program("enum_answers"), file.name], env)
    out = {}
    for line in process.out.lines[:-1]:
        call, number, result, output = line.split()
        out[call, int(number)] = int(result), output
    return out


def expect_answers(asked, got):
    for call, name, number in asked:
        result, output = got[call, number]
        text = f"{call} of {name} ({number}) gave {result}, {output}"
        _, errors = CALLS[call]
        due, zero = errors.get(name, 0), call == "cuCtxGetLimit"
        if name.startswith("number "):
            due, zero = BEYOND.get(call, (INVALID, False))
        expect(result == due, f"{text}; {due} is due")
        if result == 0:
            expect(output[:8] != FILL * 4, f"{text}: nothing is written")
        elif zero:
            expect(set(output) == {"0"}, f"{text}: the output is not 0")


def test_local(build):
    asked = questions(build)
    expect_answers(asked, answers(build, build.local(DEVICES), asked))
    print(f"{len(asked)} questions")


def test_remote(build):
    asked = questions(build)
    local = answers(build, build.local(DEVICES), asked)
    with harness.serving(build) as server:
        remote = answers(build, build.remote([server]), asked)
    expect_answers(asked, remote)
    different = [f"{call} of {name}: {local[call, number]} directly, {remote[call, number]} here"
                 for call, name, number in asked
                 if local[call, number] != remote[call, number] and
                 name not in OTHERWISE.get(call, ())]
    expect(not different, "\n".join(different))


def test_errors_are_documented(build):
    documents, rows = expected.documented(build.cuda), generate.read_rows(expected.CALLS)
    names = {INVALID: "INVALID_VALUE", UNSUPPORTED_LIMIT: "UNSUPPORTED_LIMIT",
             UNSUPPORTED_AFFINITY: "UNSUPPORTED_EXEC_AFFINITY"}
    for call, (_, errors) in CALLS.items():
        for error in {*errors.values(), BEYOND.get(call, (INVALID, False))[0]} - {NOT_SUPPORTED}:
            known = documents[call] | rows[call].beyond | expected.GENERAL
            expect(names[error] in known, f"{call}: {names[error]} is not documented")


if __name__ == "__main__":
    harness.main(globals())

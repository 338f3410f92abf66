#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists of docs/semantics.md, which say what waits, against each call that there is; and what
needs many threads or a look at the traffic. A comment "semantics S1" claims statement S1."""

import os
import re
import sys

from lib import harness
from lib.harness import expect

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAITS_FOR_GPU = 5


def lists():
    """statement -> names of the calls that stand below it"""
    found, statement, inside = {}, None, False
    with open(os.path.join(ROOT, "docs", "semantics.md"), encoding="utf-8") as file:
        for line in file:
            match = re.match(r"\[S(\d+)\] ", line)
            statement = int(match.group(1)) if match else statement
            if line.startswith("```"):
                inside = line.strip() == "```calls"
            elif inside:
                found.setdefault(statement, []).extend(line.split())
    return found


def described():
    """call or message -> how it is answered; the calls that only newer toolkits have"""
    found, newer, name = {}, set(), None
    folder = os.path.join(ROOT, "api", "cuda")
    for chapter in sorted(os.listdir(folder)):
        if not chapter.endswith(".api"):
            continue
        with open(os.path.join(folder, chapter), encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if re.match(r"(call|message) ", line):
                    name = words[1]
                elif words[:1] == ["reply"]:
                    found[name] = words[1]
                elif words[:1] == ["since"]:
                    newer.add(name)
    return found, newer


def not_made():
    """Those whose arguments only another process could give."""
    with open(os.path.join(ROOT, "tests", "arguments", "calls.txt"), encoding="utf-8") as file:
        return set(re.findall(r"^(\w+)\n    skip \* \*", file.read(), re.M))


class Seen:
    """A call as it was made once."""

    def __init__(self, name):
        self.name, self.sent, self.waits, self.waited_for_gpu = name, [], 0, None

    def __str__(self):
        gpu = ", held up by the GPU" if self.waited_for_gpu else ""
        return f"{self.name} sends {self.sent or 'nothing'}, waits {self.waits} times{gpu}"


def run_calls(build, expected):
    """[Seen], each call twice. `expected`: those that wait for the GPU."""
    with harness.serving(build) as server:
        command = [build.path("tests", "call_waits"), build.path("lib", "gpuaas", "libcuda.so.1"),
                   *expected]
        process = harness.run(command, build.remote([server], GPUAAS_TRACE="calls"))
    seen, current = [], None
    for line in process.err.lines:
        if line.startswith("begin "):
            current = Seen(line.split()[1])
            seen.append(current)
        elif line.startswith("end "):
            current = None
        elif current and " call: " in line:
            current.sent.append(re.search(r" call: (\w+)", line).group(1))
        elif current and " wait: " in line:
            current.waits += 1
    for one, line in zip(seen, process.out.lines):
        name, verdict = line.split()
        expect(name == one.name, f"{name} is told where {one.name} was made")
        one.waited_for_gpu = verdict == "waited"
    return seen


def is_right(statement, one, again, reply):
    asked = [name for name in one.sent if reply[name] != "async"]
    if statement == 1:
        return not one.sent and not one.waits
    if statement == 2:
        return one.sent and not asked and not one.waits
    if statement == 3:
        return not one.sent if again else one.waits <= 1
    if statement == 4:
        return asked and one.waits <= 1
    if statement == WAITS_FOR_GPU:
        return one.waited_for_gpu
    if statement == 114:
        return not one.waits and one.sent
    if statement == 60:
        return not again or not one.waits
    return one.waits <= 1  # contexts: ending one that is not active asks nothing


def test_which_call_waits(build):
    """semantics S1, S2, S3, S4, S5, S6, S60, S113, S114"""
    page = lists()
    reply, newer = described()
    listed = [name for names in page.values() for name in names]
    expect(len(listed) == len(set(listed)), "a call stands in two lists")
    seen = run_calls(build, page[WAITS_FOR_GPU])
    made = {one.name for one in seen}
    missing = set(listed) - made - newer - not_made()
    expect(made <= set(listed), f"in no list: {sorted(made - set(listed))}")
    expect(not missing, f"listed, but there is no such call: {sorted(missing)}")
    wrong, before = [], set()
    for one in seen:
        statement = next(number for number, names in page.items() if one.name in names)
        good = is_right(statement, one, one.name in before, reply)
        if statement != WAITS_FOR_GPU:
            good = good and not one.waited_for_gpu
        if not good:
            wrong.append(f"S{statement}: {one}")
        before.add(one.name)
    expect(not wrong, "not as docs/semantics.md says:\n" + "\n".join(wrong))
    print(f"{len(made)} calls, each made twice")


def test_first_calls_of_threads(build):
    """semantics S14"""
    with harness.serving(build) as server:
        traces = harness.Traces(server)
        for threads in ("2", "8", "64"):
            for shared in (False, True):
                harness.run_passing([build.program("first_calls", shared), threads],
                                    build.remote([server]))
        traces.expect_none()


# A copy from the first device's memory to the last one's, and an event of one for the other.
ACROSS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
handle = ctypes.c_void_p
def call(name, *values):
    result = getattr(cuda, name)(*values)
    assert result == 0, (name, result)
call("cuInit", 0)
memory, contexts = [], []
for device in range(2):
    context, address = handle(), ctypes.c_uint64()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4096))
    memory.append(address)
    contexts.append(context)
size = ctypes.c_size_t(64)
event, stream = handle(), handle()
call("cuStreamCreate", ctypes.byref(stream), 0)
call("cuCtxSetCurrent", contexts[0])
call("cuEventCreate", ctypes.byref(event), 0)
call("cuCtxSetCurrent", contexts[1])
print(cuda.cuMemcpyDtoD_v2(memory[0], memory[1], size),
      cuda.cuMemcpyPeer(memory[0], contexts[0], memory[1], contexts[1], size),
      cuda.cuStreamWaitEvent(stream, event, 0),
      cuda.cuCtxEnablePeerAccess(contexts[0], 0), cuda.cuCtxDisablePeerAccess(contexts[0]))
"""


def test_refused_after_it_returned(build):
    """semantics S37"""
    with harness.serving(build) as server:
        for turns in ("0", "10", "1000"):
            process = harness.run_passing([build.program("late_error"), turns],
                                          build.remote([server]))
            # 2: cudaErrorMemoryAllocation
            expect("late error 2" in process.out.text, process.report())
            lines = [line for line in process.err.lines if "after it had returned" in line]
            expect(len(lines) == 1 and "cuStreamCreate" in lines[0],
                   f"one line\n{process.report()}")


# Uses what the server has refused to make, after that call has returned.
REFUSED = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
handle = ctypes.c_void_p
def call(name, *words):
    code = getattr(cuda, name)(*words)
    assert code == 0, f"{name}: {code}"
context, module, memory = handle(), handle(), ctypes.c_uint64()
size, room, host = ctypes.c_size_t(64), ctypes.c_size_t(), ctypes.create_string_buffer(64)
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuMemAlloc_v2", ctypes.byref(memory), size)
begin = b".version 7.0\\n.target sm_52\\n.address_size 64\\n// %d"
fill, count = 8 << 20, 0
while fill >= 1024: # no memory is left for objects
    image = begin % count + b" " * fill + b"\\n\\0"
    count += 1
    if cuda.cuModuleLoadData(ctypes.byref(module), image) != 0:
        fill //= 2
def refused(make, flags):
    made = handle()
    for _ in range(100):
        call(make, ctypes.byref(made), flags)
        if cuda.cuMemGetInfo_v2(ctypes.byref(room), ctypes.byref(room)) != 0: # it waits
            call(make, ctypes.byref(made), flags)
            return made
    raise SystemExit("all are made")
def stream():
    return refused("cuStreamCreate", 1)
def event():
    return refused("cuEventCreate", 6) # for other programs
print(cuda.cuStreamSynchronize(stream()), cuda.cuStreamQuery(stream()),
      cuda.cuMemcpyDtoHAsync_v2(host, memory, size, stream()),
      cuda.cuMemsetD8Async(memory, 0, size, stream()) or cuda.cuCtxSynchronize(),
      cuda.cuEventRecord(event(), None), cuda.cuStreamWaitEvent(None, event(), 0),
      cuda.cuEventQuery(event()), cuda.cuIpcGetEventHandle(host, event()))
"""


def test_what_was_refused(build):
    """semantics S37: every call that needs it says why it was refused, not that it does not know
    it."""
    with harness.serving(build, gpus=1, keys=["application_host_memory = 64MiB"]) as server:
        process = harness.run([sys.executable, "-c", REFUSED], build.remote([server]))
        expect(process.out.text == " ".join(8 * "2"), process.report())


NO_CONTEXT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
for name, more in (("cuStreamSynchronize", ()), ("cuStreamQuery", ()),
                   ("cuStreamWaitEvent", (None, 0)), ("cuLaunchHostFunc", (None, None))):
    print([getattr(cuda, name)(ctypes.c_void_p(at), *more) for at in (0, 1, 2, 0x1234567)])
"""


def test_streams_without_a_context(build):
    """Names of streams need one; what is no stream is none (400) anyway."""
    with harness.serving(build) as server:
        process = harness.run([sys.executable, "-c", NO_CONTEXT], build.remote([server]))
        lines = process.out.text.splitlines()
        expect(lines[:2] == ["[201, 201, 201, 400]"] * 2, process.report())
        expect(len(lines) == 4 and not re.search(r"\b0\b", process.out.text), process.report())


def test_between_servers(build):
    """semantics S19"""
    with harness.serving(build, gpus=1) as one, harness.serving(build, gpus=1) as two:
        process = harness.run([sys.executable, "-c", ACROSS], build.remote([one, two]))
        expect(process.out.text == "0 0 801 217 705", f"these are due\n{process.report()}")
        expect("different nodes" in process.err.text, f"it is named\n{process.report()}")


if __name__ == "__main__":
    harness.main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory runs out at the N-th allocation, and threads at the N-th start, in gpuaasd, in a backend
process, in its driver, and in the client. The affected program gets a documented error or goes on;
no other program is affected. --all: at each N, otherwise at a sample."""

import check
from check import Checker, expect
from lib import harness
from points import Fuse

SAMPLE = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)
NO_THREAD = 304  # CUDA's word for a call of the operating system that failed


def counts():
    return range(1, 10000) if check.ALL else SAMPLE


def enumerate_failures(fuse, name, attempt):
    """Fails the N-th; ends when there is none any more. Half of the errors may not be silence."""
    for count in counts():
        fuse.arm(name, "fail", count)
        with check.explained(f"the {count}. {name}"):
            attempt()
        if not fuse.disarm():
            expect(count > 1, f"nobody came to {name!r}")
            print(f"{name}: {count - 1}")
            return


def quiet(fuse):
    """When an event or a wait between streams fails late, the program's copies before and after it
    lose their order: what races then is the content of its device memory, and nothing of ours."""
    path = fuse.file + ".suppressions"
    with open(path, "w", encoding="utf-8") as file:
        file.write("race:copy_rows\n")
    return {"TSAN_OPTIONS": f"exitcode=66:suppressions={path}"}


def in_a_backend(build, name):
    config = check.without_spares()
    with Fuse() as fuse, harness.serving(build, config=config,
                                         extra={**fuse.env, **quiet(fuse)}) as server:
        checker = Checker(build, server)

        def attempt():
            victim = check.start_steps(build, [server])
            checker.check(victims=[victim], documented=check.DOCUMENTED | {NO_THREAD},
                          serve=False)
        enumerate_failures(fuse, name, attempt)
        checker.check()


def test_backend(build):
    in_a_backend(build, "malloc in gpuaasd-backend")
    in_a_backend(build, "thread in gpuaasd-backend")


def test_driver(build):
    in_a_backend(build, "malloc in gpuaas")
    in_a_backend(build, "thread in gpuaas")


def test_client(build):
    with Fuse() as fuse, harness.serving(build) as server:
        checker = Checker(build, server)

        def attempt():
            victim = check.start_steps(build, [server], **fuse.env)
            checker.check(victims=[victim], serve=False)
        enumerate_failures(fuse, "malloc in gpuaas", attempt)
        enumerate_failures(fuse, "thread in gpuaas", attempt)
        checker.check()


def test_gpuaasd(build):
    with Fuse() as fuse:
        def attempt():
            with check.serving_maybe(build, extra=fuse.env) as server:
                if server is None:
                    expect(fuse.fired(), "it has not started, and nothing has failed")
                    return
                checker = Checker(build, server)
                victim = check.start_steps(build, [server])
                checker.check(victims=[victim], serve=False)
                if fuse.fired():  # else the next program might be hit
                    check.run_steps(build, [server])
        enumerate_failures(fuse, "malloc in gpuaasd", attempt)


if __name__ == "__main__":
    harness.main(globals())

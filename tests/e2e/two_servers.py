#!/usr/bin/env python3
"""A program with devices of two servers: what crosses between them goes through the client."""

import harness
from harness import expect


def run(build, servers, arguments=()):
    process = harness.run_passing([build.program("between_servers"), *arguments],
                                  build.remote(servers))
    print(f"{len(servers)} servers: {process.seconds:.2f} s")
    return process


def test_of_one_server(build):
    with harness.serving(build, config=harness.configuration(2)) as server:
        run(build, [server])


def test_of_two(build):
    with harness.serving(build, config=harness.configuration(1)) as first, \
            harness.serving(build, config=harness.configuration(1)) as second:
        traces = [harness.Traces(server) for server in (first, second)]
        process = run(build, [first, second], ["apart"])
        expect("801" in "\n".join(process.err.lines), process.report())
        for trace in traces:
            trace.expect_none()


if __name__ == "__main__":
    harness.main(globals())

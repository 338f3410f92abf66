#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the README for two machines, as they stand there: in folders, with a name and
with ports of their own (namespaces of mounts and networks), where the machine allows that."""

import os
import re
import tempfile

from lib import harness
from lib.harness import expect
from lib.namespaces import OWN_FOLDERS, namespaces

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")


def blocks():
    """The indented pieces of the section: the configuration, what the server's machine runs, what
    the program's machine runs."""
    with open(README, encoding="utf-8") as f:
        section = re.search(r"(?ms)^## Two machines\n(.*?)^## ", f.read()).group(1)
    found = re.findall(r"(?m)^((?:    .*\n(?:\n(?=    ))?)+)", section)
    return [re.sub(r"(?m)^    ", "", each) for each in found]


SCRIPT = """
set -e
ip link set lo up # a network of its own: nobody else has its ports
{own}
server_is_ready() {{
    for _ in $(seq 200); do grep -q 'ready tls' log && return; sleep 0.1; done; cat log; exit 1
}}
trap 'kill $! 2>/dev/null; wait' EXIT
{server}
cp /var/lib/gpuaas/ca/ca.pem .
{client}
echo LISTED; gpuaasctl sessions; gpuaasctl tenant list
"""


def test_commands_of_the_readme(build):
    config, server, client = blocks()
    commands = [line for line in server.splitlines() if line]
    expect(len(commands) <= 5, f"at most five commands: {commands}")
    if not namespaces():
        print("  (left out: no namespaces of mounts and networks here)")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build.program("vector_add"), folder + "/app")
        with open(folder + "/gpuaasd.conf", "w", encoding="utf-8") as f:
            f.write(config)
        # As somebody pastes them: nothing waits between them but what the commands wait for.
        server = server.replace("gpuaasd.conf &", "gpuaasd.conf 2> log &") + "\nserver_is_ready"
        if build.sanitize in harness.RUNTIMES:  # unmodified programs load its runtime first
            client = f"LD_PRELOAD={harness.sanitizer_runtime(build.sanitize)} {client}"
        script = SCRIPT.format(own=OWN_FOLDERS.format(folder=folder), server=server,
                               client=client)
        env = build.environment(preload=False)
        env["PATH"] = build.path("bin") + ":" + env["PATH"]
        env["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
        process = harness.run(["unshare", "--mount", "--net", "bash", "-c", script], env,
                              status=None)
        log = ""
        if os.path.exists(folder + "/log"):
            with open(folder + "/log", encoding="utf-8") as f:
                log = f.read()
        expect(process.status == 0, f"{process.report()}\n{log}")
        expect("PASSED" in process.out.lines, f"{process.report()}\n{log}")
        expect(any(line.startswith("lab") and "2.0 GiB" in line for line in process.out.lines),
               process.report())


if __name__ == "__main__":
    harness.main(globals())

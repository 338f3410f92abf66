#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The secret of a token is not in gpuaasd's memory once it has been told to an admin, or shown by a
program: who reads the memory later (a core file, another fault) does not get it."""

import os
import re

from lib import harness, remote_admin, tokens
from lib.harness import expect, wait_until

LARGEST = 1 << 28  # bytes of a mapping; a sanitizer's tables are larger, and have no texts


def mappings(pid):
    """Those that the process can write."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            start, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            start, end = int(start, 16), int(end, 16)
            if "w" in rights and end - start <= LARGEST:
                yield start, end, line.strip()


def places(pid, text):
    """Where it is in the memory of a process."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end, line in mappings(pid):
            try:
                held = os.pread(memory.fileno(), end - start, start)
            except OSError:
                continue  # a device's, or gone
            at = held.find(text.encode())
            while at >= 0:
                around = held[max(0, at - 64):at + 96]
                found.append(f"{start + at:#x} in {line}: {around}")
                at = held.find(text.encode(), at + 1)
    return found


def expect_forgotten(server, token, when):
    secret = token.split("_", 2)[2]
    expect(len(secret) > 40, "a token has a secret")
    try:  # behind the reply, gpuaasd may still be at it
        wait_until(lambda: not places(server.pid, secret), 5, f"the secret is gone, {when}")
    except harness.Failure:
        expect(False, f"{when}: the secret is there: " + "\n".join(places(server.pid, secret)))


def tokens_of(admin, tenant):
    """Ways to get one."""
    admin.run("tenant", "add", tenant)
    yield admin.json("token", "issue", tenant)["token"]
    yield admin.json("token", "rotate", tenant)["token"]


def test_told_to_an_admin(build):
    with remote_admin.reachable(build) as (server, local, folder):
        local.run("tenant", "add", "lab-with-a-name")
        expect(places(server.pid, "lab-with-a-name"), "a text that is there is found")
        remote_admin.issue(local, folder, "issue-admin", "ana", name="ana")
        elsewhere = remote_admin.Remote(build, folder, server.address, "ana")
        for admin, tenant in ((local, "lab"), (elsewhere, "shop")):
            for token in tokens_of(admin, tenant):
                expect_forgotten(server, token, "told")
        # Tokens that programs show, right and wrong.
        env = build.remote([server], GPUAAS_CA=f"{folder}/ca/ca.pem", GPUAAS_TOKEN=token)
        harness.run_passing([build.program("hello")], env)
        expect_forgotten(server, token, "shown by tls")
        wrong = token[:-3] + ("AAA" if token[-3:] != "AAA" else "BBB")
        tokens.expect_refused(build, {**env, "GPUAAS_TOKEN": wrong}, tokens.NOT_ACCEPTED)
        expect_forgotten(server, wrong, "shown, and wrong")


def test_shown_by_a_program(build):
    with tokens.guarded(build) as server:
        server.change("add", "lab")
        token = server.token("lab")[1]
        harness.run_passing([build.program("hello")], tokens.with_token(build, server, token))
        expect_forgotten(server, token, "shown by tcp")


if __name__ == "__main__":
    harness.main(globals())

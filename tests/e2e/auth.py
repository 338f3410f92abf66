#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""auth = on: who is let in, what others are told, and that a right which ends ends the programs."""

import hashlib
import os
import re
import signal
import subprocess
import time

from lib import certificates, harness
from lib.harness import expect, wait_until
from lib.tokens import NOT_ACCEPTED, expect_refused, guarded, with_token

ENDED_SECONDS = 5  # promised, once a right has ended


def test_tokens(build):
    with guarded(build) as server:
        server.change("add", "lab")
        number, token = server.token("lab")
        expect_refused(build, build.remote([server]), "nothing was shown", "GPUAAS_TOKEN_FILE")
        harness.run_passing([build.program("vector_add")], with_token(build, server, token))
        wrong = token[:30] + ("A" if token[30] != "A" else "B") + token[31:]
        said = expect_refused(build, with_token(build, server, wrong), NOT_ACCEPTED)
        expect(token[8:] not in server.err.text, "no secret is logged")
        line = expect_refused(build, with_token(build, server, wrong), NOT_ACCEPTED)
        expect("wrong" not in said + line, "nobody is told which half was wrong")
        expect(after(said) == after(line), "neither that it is the same again")
        harness.run_passing([build.program("hello")], with_token(build, server, token))
        unknown = token.replace(number, "zzzzzzzzzzzz")
        again = expect_refused(build, with_token(build, server, unknown), NOT_ACCEPTED)
        expect(after(said) == after(again), "an unknown id is told no other way")
        # A program with the secret is told the state of its token, each time; one without it is
        # not.
        old_number, old = server.change("old_token", "lab").split()
        for _ in range(3):
            expect_refused(build, with_token(build, server, old),
                           f"the token {old_number} has expired at 20",
                           "ask the administrator of the server for a new one")
        guess = old[:-2] + ("A" if old[-2] != "A" else "B") + old[-1]
        again = expect_refused(build, with_token(build, server, guess), NOT_ACCEPTED)
        expect(after(said) == after(again), "a guess is told no other way")
        server.change("revoke", number)
        expect_refused(build, with_token(build, server, token),
                       f"the token {number} was revoked by its administrator at 20")
        for reason in ("wrong", "unknown", "expired", "penalty"):
            server.wait_for_line(rf"not admitted \({reason}\): ", 10, server.err)


def after(line):
    return line.split("(", 1)[1]


def ended(build, server, env, change, *words, stopped=False):
    """A program that computes is ended soon after the change; its error and its line say so, also
    if it is `stopped` until all is over."""
    with harness.running([build.program("endless"), "kernel"], env) as program:
        program.wait_for_line("started", 60)
        if stopped:
            os.kill(program.pid, signal.SIGSTOP)
        began = time.monotonic()
        server.change(*change)
        if stopped:
            wait_until(lambda: not server.backends(), 30, "its backend process is gone")
            os.kill(program.pid, signal.SIGCONT)
        program.wait_for_line("cudaDeviceSynchronize: error 719", 30)
        took = time.monotonic() - began
        expect(stopped or took <= ENDED_SECONDS, f"{took:.1f} s after {change}")
        program.wait(30)  # then all lines are here
        expect(any(all(word in line for word in words) for line in harness.logged(program)),
               f"{words}\n{program.report()}")
    wait_until(lambda: not server.backends(), 10, "its backend process is gone")


def test_rights_that_end(build):
    """Revoked, removed, while gpuaasd runs. A suspended tenant keeps what it has."""
    with guarded(build) as server:
        server.change("add", "lab")
        server.change("add", "other")
        mine, token = server.token("lab")
        others = with_token(build, server, server.token("other")[1])
        with harness.running([build.program("endless"), "kernel"], others) as neighbour:
            neighbour.wait_for_line("started", 60)
            env = with_token(build, server, token)
            with harness.running([build.program("endless"), "kernel"], env) as program:
                program.wait_for_line("started", 60)
                server.change("suspend", "lab", "unpaid")
                expect_refused(build, env, "tenant lab is suspended: unpaid")
                time.sleep(2)
                expect(program.running(), f"what runs goes on\n{program.report()}")
            server.change("resume", "lab")
            harness.run_passing([build.program("hello")], env)
            ended(build, server_without(server, neighbour), env, ("revoke", mine),
                  "was revoked by its administrator")
            expect_refused(build, env, f"the token {mine} was revoked by its administrator")
            env = with_token(build, server, server.token("lab")[1])
            ended(build, server_without(server, neighbour), env, ("remove", "lab"),
                  "was revoked by its administrator", stopped=True)
            expect(neighbour.running(), neighbour.report())
        server.change("rename", "other", "another")
        harness.run_passing([build.program("hello")], others)


class server_without:  # noqa: N801
    """The server, whose backend processes are those besides the ones that are there now."""

    def __init__(self, server, _neighbour):
        self.server, self.there = server, set(server.backends())
        self.change = server.change

    def backends(self):
        return [pid for pid in self.server.backends() if pid not in self.there]


def test_local_users(build):
    """The kernel knows the user of a process that comes by shm:."""
    name = f"gpuaas-test-{os.getpid()}"
    with guarded(build, more=f"listen = shm:{name}\n") as server:
        server.change("add", "lab")
        env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": f"shm:{name}"})
        expect_refused(build, env, f"user {os.getuid()} of this machine belongs to no tenant")
        server.change("local", "gid", str(os.getgid()), "lab")
        harness.run_passing([build.program("hello")], env)
        ended(build, server, env, ("no_local", "gid", str(os.getgid())), "was revoked")
        server.change("local", "uid", str(os.getuid()), "lab")
        harness.run_passing([build.program("hello")], env)


def fingerprint(cert):
    der = subprocess.run(["openssl", "x509", "-in", cert, "-outform", "der"], check=True,
                         capture_output=True).stdout
    return hashlib.sha256(der).hexdigest()


def test_certificates(build):
    authority = harness.authority()
    with guarded(build, "tls", f"tls_client_ca = {authority.ca}\n") as server:
        def env(pair, **extra):
            return with_token(build, server, "", GPUAAS_CERT=pair[0], GPUAAS_KEY=pair[1],
                              GPUAAS_TRANSPORT="tls", **extra)
        server.change("add", "lab")
        pair = authority.sign("ann", "URI:gpuaas://tenant/lab/ann1")
        server.change("certificate", "lab", "ann1", fingerprint(pair[0]))
        harness.run_passing([build.program("vector_add")], env(pair))
        token = server.token("lab")[1]
        harness.run_passing([build.program("hello")],
                            with_token(build, server, token, GPUAAS_TRANSPORT="tls"))
        # From the right authority, but not entered; or another one of the same name
        stranger = authority.sign("ben", "URI:gpuaas://tenant/lab/ben1")
        expect_refused(build, env(stranger), NOT_ACCEPTED)
        forged = authority.sign("ann-again", "URI:gpuaas://tenant/lab/ann1")
        expect_refused(build, env(forged), NOT_ACCEPTED)
        nameless = authority.sign("cat", "DNS:client")
        expect_refused(build, env(nameless), "nothing was shown")
        # The certificate has the tenant's old name: what is entered counts.
        server.change("rename", "lab", "labs")
        harness.run_passing([build.program("hello")], env(pair))
        ended(build, server, env(pair), ("revoke", "ann1"), "was revoked by its administrator")


def test_wrong_certificates(build):
    """Such programs come no farther than TLS: the words name cause and cure to both sides."""
    authority = harness.authority()
    with guarded(build, "tls", f"tls_client_ca = {authority.ca}\n") as server:
        server.change("add", "lab")
        foreign = certificates.Authority(server.folder.name, "foreign")
        for pair, words, theirs in (
                (foreign.sign("dan", "URI:gpuaas://tenant/lab/dan1"),
                 "it does not know the authority of this client's certificate (GPUAAS_CERT",
                 "the client's certificate is from no authority that is trusted here"),
                (authority.sign("eve", "URI:gpuaas://tenant/lab/eve1", -1),
                 "this client's certificate (GPUAAS_CERT) has expired",
                 "the client's certificate has expired")):
            env = with_token(build, server, "", GPUAAS_CERT=pair[0], GPUAAS_KEY=pair[1])
            process = harness.run([build.program("devices")], env, status=1)
            expect(words in process.err.text, process.report())
            wait_until(lambda words=theirs: words in server.err.text, 10, server.report())


def talk_tls(server, *options):
    return subprocess.run(["openssl", "s_client", "-connect", server.place, "-CAfile",
                           harness.authority().ca, *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def test_encryption_that_is_left_out(build):
    """Downgrades: TLS 1.2, and no TLS at all, with a token that must not be overheard."""
    with guarded(build, "tls") as server:
        server.change("add", "lab")
        token = server.token("lab")[1]
        env = with_token(build, server, token)
        env["GPUAAS_SERVERS"] = server.place
        process = harness.run([build.program("devices")], env, status=1)
        expect("it speaks TLS alone on this port: write tls://" in process.err.text,
               process.report())
        old = talk_tls(server, "-tls1_2")
        expect("protocol version" in old.stderr, old.stderr)
        # No session to resume, so nothing is said before the handshake has ended (0-RTT).
        session = os.path.join(server.folder.name, "session")
        first = talk_tls(server, "-sess_out", session, "-servername", "nobody." * 30 + "example")
        expect("TLSv1.3" in first.stdout and "(ok)" in first.stdout, first.stdout + first.stderr)
        expect("No client certificate CA" in first.stdout and not os.path.exists(session),
               "a session that can be resumed")
        harness.run_passing([build.program("hello")], with_token(build, server, token))


def test_limit_of_sessions(build):
    """A tenant's limits hold, and change while it runs."""
    with guarded(build) as server:
        server.change("add", "lab", "sessions=1")
        env = with_token(build, server, server.token("lab")[1])
        with harness.running([build.program("endless"), "kernel"], env) as program:
            program.wait_for_line("started", 60)
            expect_refused(build, env, "limit sessions of tenant lab: 1 allowed, 1 used")
            server.change("add", "lab", "sessions=2")
            harness.run_passing([build.program("hello")], env)


def test_store_that_is_locked_or_lost(build):
    """A change that another program leaves half done keeps nobody out."""
    with guarded(build) as server:
        server.change("add", "lab")
        env = with_token(build, server, server.token("lab")[1])
        with harness.running([build.program("endless"), "kernel"], env) as program:
            program.wait_for_line("started", 60)
            # A lock that stays: as by another program that hangs in a change
            locker = subprocess.Popen(
                ["python3", "-c", LOCKER, server.store], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
            expect(locker.stdout.readline() == "locked\n", "it is locked")
            harness.run_passing([build.program("hello")], env)
            locker.communicate("", timeout=30)
            expect(program.running(), program.report())
            # Taken away: no empty one takes its place, and what runs goes on.
            for end in ("", "-wal", "-shm"):
                os.rename(server.store + end, f"{server.store}{end}.away")
            server.wait_for_line("put the database back", 30, server.err)
            server.wait_for_line("usage cannot be written", 30, server.err)
            expect(program.running() and not os.path.exists(server.store), server.report())
            for end in ("", "-wal", "-shm"):
                os.rename(f"{server.store}{end}.away", server.store + end)
            server.change("add", "lab", "sessions=7")
            wait_until(lambda: "usage is written again" in server.err.text, 60, server.report())


LOCKER = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_words_of_the_configuration(build):
    for more, words in (("auth = on\n", "auth: on: it needs store = "),
                        ("auth = on\nstore = relative.db\n", "an absolute path"),
                        ("auth = on\nstore = /nonexistent/store.db\n", "[server] store: ")):
        config = harness.configuration(1, keys=[more])
        server = harness.Server(build, config=config)
        try:
            status = server.wait(harness.START_SECONDS)
            expect(status == 1 and words in server.err.text, server.report())
        finally:
            server.end()
            server.folder.cleanup()
    config = ("[server]\nlisten = tcp://0.0.0.0:0\nauth = on\nstore = /tmp/x.db\n"
              "[gpu.0]\ndriver = soft\n")
    server = harness.Server(build, config=config)
    try:
        expect(server.wait(30) == 1 and "can be overheard" in server.err.text and
               re.search(r"listen = tls://.*insecure = yes", server.err.text), server.report())
    finally:
        server.end()
        server.folder.cleanup()


if __name__ == "__main__":
    harness.main(globals())

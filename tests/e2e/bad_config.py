#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wrong configuration: gpuaasd does not start, and reports file, line, key and the allowed
values."""

import os
import re
import tempfile

from lib import harness
from lib.harness import expect


def start_wrong(build, config):
    """The line on stderr that names the file."""
    server = harness.Server(build, config=config)
    try:
        status = server.wait(30)
        expect(status not in (0, None) and status > 0, f"exit status {status}\n{server.report()}")
        lines = [line for line in server.err.lines if os.path.basename(server.config) in line]
        expect(lines, f"no line names the file\n{server.report()}")
        return "\n".join(lines)
    finally:
        server.end()
        server.folder.cleanup()


def expect_words(text, *patterns):
    for pattern in patterns:
        expect(re.search(pattern, text), f"{pattern!r} is missing in: {text}")


def test_unknown_key(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\nlissten = x\n")
    expect_words(text, r":3\b", "lissten")


def test_mistyped_key(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\n[gpu.0]\ndriver = soft\n"
                              "memry = 1GiB\n")
    expect_words(text, r":5\b", "memry", "did you mean memory")


def test_key_of_another_section(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\nmemory = 1GiB\n")
    expect_words(text, r":3\b", "memory", r"\[gpu\.N\]")


def test_unknown_section(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\n\n[sever]\nlisten = x\n")
    expect_words(text, r":[45]\b", "sever")


def test_bad_address(build):
    text = start_wrong(build, "[server]\nlisten = carrier-pigeon://here\n")
    expect_words(text, r":2\b", "listen", "tcp://")


def test_more_memory_than_the_machine(build):
    """No mistake, but told: once by gpuaasd, and by a program that uses the software GPU alone."""
    wanted = re.compile("of 1 GPUs 1 have more memory than this machine .GPU 0: 16777216 of ")
    config = re.sub("(?m)^memory = .*$", "memory = 16TiB", harness.configuration(1))
    with harness.serving(build, config=config) as server:
        process = harness.run_passing([build.program("hello")], build.remote([server]))
        expect(not wanted.search(process.err.text), process.report())
        told = [line for line in server.err.lines if wanted.search(line)]
        expect(len(told) == 1, server.report())
    process = harness.run_passing([build.program("hello")], build.local("memory=16TiB"))
    expect(wanted.search(process.err.text), process.report())
    process = harness.run_passing([build.program("hello")], build.local("memory=64MiB"))
    expect("more memory" not in process.err.text, process.report())


def test_address_of_data_only(build):
    text = start_wrong(build, "[server]\nlisten = rdma://127.0.0.1:0\n")
    expect_words(text, r":2\b", "listen", "tcp://", "rdma = yes")


def test_open_to_strangers(build):
    """A configuration that serves other machines without authentication must say so."""
    start = "[server]\nlisten = {}\nauth = off\n{}[gpu.0]\ndriver = soft\n"
    cert, key = harness.certificate("127.0.0.1")
    tls = f"tls_cert = {cert}\ntls_key = {key}\n"
    for url, more in (("tcp://0.0.0.0:0", ""), ("tcp://[::]:0", ""), ("tls://0.0.0.0:0", tls),
                      ("127.0.0.1:0, tcp://0.0.0.0:0", ""), ("tcp://0.0.0.0:0", "insecure = no\n"),
                      ("tcp://0.0.0.0:0",
                       f"{tls}tls_client_ca = {harness.authority().ca}\n")):
        text = start_wrong(build, start.format(url, more))
        expect_words(text, r":2\b", "listen", "insecure = yes", "tls_client_ca",
                     "whoever does may use all GPUs")
    with harness.serving(build, config=start.format("tcp://0.0.0.0:0", "insecure = yes\n")):
        pass
    more = f"{tls}tls_client_ca = {harness.authority().ca}\n"
    with harness.serving(build, config=start.format("tls://0.0.0.0:0", more)):
        pass
    name = f"gpuaas-test-{os.getpid()}"
    config = start.format(f"tcp://127.0.0.1:0, tcp://localhost:0, shm:{name}", "")
    with harness.serving(build, config=config):
        pass


def test_certificate_that_is_not_there(build):
    """Also said by --check-config, before a restart fails of it."""
    text = start_wrong(build, "[server]\nlisten = tls://127.0.0.1:0\ntls_cert = /nonexistent.pem\n"
                              "tls_key = /nonexistent.key\n[gpu.0]\ndriver = soft\n")
    expect_words(text, "tls_cert", "tls_key", "cannot read /nonexistent.pem: No such file")


def test_private_key_of_everybody(build):
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "server.key")
        with open(key, "w", encoding="ascii") as f:
            f.write("-----BEGIN PRIVATE KEY-----\n")
        text = f"[server]\nlisten = tcp://127.0.0.1:0\ntls_key = {key}\n[gpu.0]\ndriver = soft\n"
        for mode in (0o644, 0o602):
            os.chmod(key, mode)
            expect_words(start_wrong(build, text), "tls_key", "every user may read",
                         f"chmod o= {key}")
        os.chmod(key, 0o640)  # its group may read it
        with harness.serving(build, config=text):
            pass


def test_bad_driver(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\n[gpu.0]\ndriver = hard\n")
    expect_words(text, r":4\b", "driver", "soft")


def test_bad_size(build):
    text = start_wrong(build, "[server]\nlisten = tcp://127.0.0.1:0\n[gpu.0]\ndriver = soft\n"
                              "memory = much\n")
    expect_words(text, r":5\b", "memory")


def test_scheduling(build):
    """A policy that there is not, and keys that contradict each other."""
    gpu = "[server]\nlisten = tcp://127.0.0.1:0\n[gpu.0]\ndriver = soft\n"
    text = start_wrong(build, gpu + "policy = fair\n")
    expect_words(text, r":5\b", "policy", "none, rr, las, las_fcfs, las_fill, fs, tfs, ps, ")
    text = start_wrong(build, gpu + "policy = las\nquantum = 5ms\nslice = 5ms\n")
    expect_words(text, r":6\b", "quantum: 5ms .* longer than slice, which is 5ms")
    text = start_wrong(build, gpu + "slice = 5\n")
    expect_words(text, r":5\b", "slice", "ns, us, ms, s, min or h")


def test_missing_file(build):
    process = harness.run([build.path("bin", "gpuaasd"), "--config", "/nonexistent/gpuaasd.conf"],
                          build.environment(preload=False), 30, status=None)
    expect(process.status > 0, f"exit status {process.status}")
    expect_words(process.err.text, "/nonexistent/gpuaasd.conf", "No such file")


if __name__ == "__main__":
    harness.main(globals())

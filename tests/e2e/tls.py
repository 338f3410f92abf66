#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encryption: data goes over TLS if a server is reached by tls://; accepted and rejected
certificates, and the messages of rejections. Other scripts, run over tls, test that everything else
is as without it."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from lib import certificates, harness, metrics
from lib.harness import expect, wait_until


def config_with_tls(gpus=1, more="", **files):
    """With the certificates of the script's own authority, or other `files`."""
    text = harness.with_tls(harness.configuration(gpus))
    for key, path in files.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {path}", text)
    return text.replace("[server]\n", f"[server]\n{more}", 1)


def environment(build, server, **extra):
    extra.setdefault("GPUAAS_TRANSPORT", "tls")
    extra.setdefault("GPUAAS_CA", harness.authority().ca)
    return build.remote([server], GPUAAS_TRACE="summary", **extra)


def expect_refused(build, server, words, **extra):
    """Error 100, and one line that says why and what to do."""
    process = harness.run([build.program("devices")], environment(build, server, **extra),
                          seconds=60, status=1)
    expect("(100," in process.out.text, f"error 100 is due\n{process.report()}")
    lines = [line for line in process.err.lines if server.place in line]
    expect(len(lines) == 1 and all(word in lines[0] for word in words),
           f"one line with {words}\n{process.report()}")


def transport(build, server, **extra):
    process = harness.run_passing([build.program("vector_add")],
                                  environment(build, server, **extra))
    return re.search(r"over (\w+)", process.err.text).group(1)


def test_data_goes_over_tls(build):
    with harness.serving(build, config=config_with_tls()) as server:
        traces = harness.Traces(server)
        expect(server.address.startswith("tls://"), server.address)
        for words in ("tls", "tcp"):
            found = transport(build, server, GPUAAS_TRANSPORT=words)
            expect(found == "tls", f"with GPUAAS_TRANSPORT={words}: over {found}")
        found = transport(build, server, GPUAAS_TRANSPORT="auto")
        expect(found == "shm", f"on one machine: over {found}")
        traces.expect_none()


def test_rdma_is_refused_with_words(build):
    with harness.serving(build, config=config_with_tls()) as server:
        env = environment(build, server, GPUAAS_TRANSPORT="rdma")
        process = harness.run_passing([build.program("hello")], env)
        expect("over TLS: it is reached by tls://" in process.err.text and
               ", over tls" in process.err.text, process.err.text)


def test_names_and_addresses(build):
    cert, key = harness.authority().sign("both", "DNS:localhost,IP:127.0.0.1")
    with harness.serving(build, config=config_with_tls(tls_cert=cert, tls_key=key)) as server:
        port = server.place.rsplit(":", 1)[1]
        for name in ("localhost", "127.0.0.1"):
            env = environment(build, server)
            env["GPUAAS_SERVERS"] = f"tls://{name}:{port}"
            harness.run_passing([build.program("vector_add")], env)


def test_keys_of_every_kind(build):
    """Keys of the kinds that TLS 1.3 knows."""
    kinds = {"rsa": ["rsa:2048", "-sha384"], "pss": ["rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"],
             "p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha512"],
             "ed25519": ["ed25519"], "ed448": ["ed448"]}
    for name, key in kinds.items():
        cert, key = certificates.sign_itself(harness.authority().folder, name, "IP:127.0.0.1", *key)
        with harness.serving(build, config=config_with_tls(tls_cert=cert, tls_key=key)) as server:
            expect_refused(build, server, ["no authority that is trusted"])
            process = harness.run([build.program("hello")],
                                  environment(build, server, GPUAAS_CA=cert, GPUAAS_CERT=cert,
                                              GPUAAS_KEY=key))
            expect(", over tls" in process.err.text, f"{name}\n{process.report()}")


def test_certificates_that_are_not_believed(build):
    with harness.serving(build, config=config_with_tls()) as server:
        expect_refused(build, server, ["no authority that is trusted", "GPUAAS_CA"], GPUAAS_CA="")
        expect_refused(build, server, ["/nowhere.pem: No such file"], GPUAAS_CA="/nowhere.pem")
        expect("the client does not know the authority" in server.err.text, server.report())
    cert, key = harness.authority().sign("elsewhere", "DNS:elsewhere.example")
    with harness.serving(build, config=config_with_tls(tls_cert=cert, tls_key=key)) as server:
        expect_refused(build, server, ["not for the name", "127.0.0.1"])


def start_refused(build, config, *words):
    """gpuaasd does not start, and `--check-config` says the same."""
    server = harness.Server(build, config=config)
    try:
        status = server.wait(harness.START_SECONDS)
        expect(status == 1 and all(word in server.err.text for word in words) and
               "ready" not in server.err.text, f"{words}\n{server.report()}")
        checked = harness.run([build.path("bin", "gpuaasd"), "--config", server.config,
                               "--check-config"], build.environment(preload=False), status=1)
        expect(all(word in checked.err.text for word in words), checked.report())
    finally:
        server.end()
        server.folder.cleanup()


def test_certificates_that_are_not_valid_now(build):
    """Nobody could connect: gpuaasd does not start with them, and a reload does not take them."""
    authority = harness.authority()
    expired = authority.sign("expired", "IP:127.0.0.1", -1)
    early = authority.sign_for_seconds("early", "IP:127.0.0.1", 3600, 7200)
    for pair, words in ((expired, ["[server] tls_cert: ", "expired.pem has expired, at 20",
                                   "gpuaasctl cert issue-server"]),
                        (early, ["[server] tls_cert: ", "early.pem is valid from 20", "clock"])):
        start_refused(build, config_with_tls(tls_cert=pair[0], tls_key=pair[1]), *words)
    old_ca = authority.sign("old-ca", "DNS:ca", -1)[0]
    start_refused(build, config_with_tls(more=f"tls_client_ca = {old_ca}\n"),
                  "[server] tls_client_ca: ", "has expired", "gpuaasctl ca rotate")
    with harness.serving(build, config=config_with_tls()) as server:
        with open(server.config, encoding="utf-8") as file:
            config = file.read()
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(re.sub(r"tls_cert = .*\ntls_key = .*", f"tls_cert = {expired[0]}\n"
                              f"tls_key = {expired[1]}", config))
        server.kill(signal.SIGHUP)
        server.wait_for_line("has not been read anew, nothing has changed", 20, server.err)
        expect("expired.pem has expired" in server.err.text, server.report())
        expect(transport(build, server) == "tls", "the old one is used on")


def test_certificate_that_ends_meanwhile(build):
    """The log warns before the end, and says when it has ended; a reload takes a new one."""
    authority = harness.authority()
    cert, key = authority.sign_for_seconds("brief", "IP:127.0.0.1", -60, 12)
    config = config_with_tls(more="http = 127.0.0.1:0\n", tls_cert=cert, tls_key=key)
    with harness.serving(build, config=config) as server:
        place = metrics.place_of(server)
        server.wait_for_line(r"warn: \[server\] tls_cert: \S*brief.pem ends in \d+ s, at", 20,
                             server.err)
        expect("not certificate: " in metrics.get(place, "/readyz")[1], "not ready")
        name = 'gpuaas_certificate_expiry_timestamp_seconds{certificate="server"}'
        left = metrics.metrics_of(place)[name] - time.time()
        expect(-30 < left < 13, f"{left}")
        server.wait_for_line(r"error: \[server\] tls_cert: \S*brief.pem has expired, at", 30,
                             server.err)
        expect("has expired" in metrics.get(place, "/readyz")[1], "not ready")
        expect_refused(build, server, ["has expired"])
        authority.sign("brief", "IP:127.0.0.1", 3)
        server.kill(signal.SIGHUP)
        server.wait_for_line("configuration has been read anew", 20, server.err)
        expect(metrics.get(place, "/readyz")[0] == 200, metrics.get(place, "/readyz"))
        expect(transport(build, server) == "tls", "and it serves on")


def test_clients_that_must_have_certificates(build):
    authority = harness.authority()
    config = config_with_tls(more=f"tls_client_ca = {authority.ca}\n")
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, \
            harness.serving(build, config=config) as server:
        cert, key = authority.sign("client", "DNS:client")
        old_cert, old_key = authority.sign("old-client", "DNS:client", -1)
        stranger, strangers_key = certificates.Authority(folder, "foreign").sign("s", "DNS:client")
        found = transport(build, server, GPUAAS_CERT=cert, GPUAAS_KEY=key)
        expect(found == "tls", f"over {found}")
        os.chmod(key, 0o644)
        expect_refused(build, server, ["every user may read", f"chmod o= {key}"],
                       GPUAAS_CERT=cert, GPUAAS_KEY=key)
        expect_refused(build, server, ["GPUAAS_CERT and GPUAAS_KEY"])
        expect_refused(build, server, ["needs its key"], GPUAAS_CERT=cert)
        expect_refused(build, server, ["authority of this client's certificate"],
                       GPUAAS_CERT=stranger, GPUAAS_KEY=strangers_key)
        expect_refused(build, server, ["has expired"], GPUAAS_CERT=old_cert, GPUAAS_KEY=old_key)
        expect("tls_client_ca names those" in server.err.text, server.report())


def test_one_speaks_tls_and_the_other_does_not(build):
    with harness.serving(build, config=config_with_tls()) as server:
        env = environment(build, server, GPUAAS_TRANSPORT="auto")
        env["GPUAAS_SERVERS"] = server.place
        process = harness.run([build.program("devices")], env, seconds=60, status=1)
        expect("it speaks TLS alone on this port: write tls://" in process.err.text,
               process.report())
        expect("the client speaks no TLS" in server.err.text, server.report())
        expect(transport(build, server) == "tls", "and it serves on")
    with harness.serving(build) as server:
        if harness.TRANSPORT == "tls":
            return
        expect_refused(build, server, ["there is no tls:// in front"])
        env = environment(build, server)
        env["GPUAAS_SERVERS"] = "tls://" + server.place
        process = harness.run([build.program("devices")], env, seconds=60, status=1)
        expect("TLS handshake" in process.err.text and "leave tls:// out" in process.err.text,
               process.report())
        wait_until(lambda: "it speaks TLS, and this port does not" in server.err.text, 10,
                   server.report())
        expect("is not encrypted" in server.err.text, server.report())


def test_nothing_older_than_tls_1_3(build):
    """Where clients connect; neither of our ends takes part in it."""
    with harness.serving(build, config=config_with_tls()) as server:
        for version, good in (("-tls1_3", True), ("-tls1_2", False)):
            stranger = subprocess.run(
                ["openssl", "s_client", version, "-connect", server.place, "-CAfile",
                 harness.authority().ca], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=60, check=False)
            made = "Cipher is TLS_" in stranger.stdout or "Cipher is ECDHE" in stranger.stdout
            expect(made == good, f"{version}\n{stranger.stdout}{stranger.stderr}")
        expect("protocol version" in stranger.stderr, stranger.stderr)
        expect(transport(build, server) == "tls", "and it serves on")
    cert, key = harness.certificate("127.0.0.1")
    for version, words in (("-tls1_3", "no answer within"), ("-tls1_2", "does not speak TLS 1.3")):
        with harness.running(["openssl", "s_server", version, "-accept", "127.0.0.1:0", "-cert",
                              cert, "-key", key, "-www"], dict(os.environ)) as stranger:
            port = stranger.wait_for_line(r"ACCEPT 127\.0\.0\.1:(\d+)", 30).group(1)
            env = build.remote([], GPUAAS_CA=harness.authority().ca)
            env["GPUAAS_SERVERS"] = f"tls://127.0.0.1:{port}"
            process = harness.run([build.program("devices")], env, seconds=60, status=1)
            expect(words in process.err.text, process.report())


def test_mistakes_of_the_configuration(build):
    key = harness.certificate("127.0.0.1")[1]
    other = harness.authority().sign("other", "DNS:other")[1]
    for config, words in (
            (re.sub(r"(?m)^tls_.*\n", "", config_with_tls()), "needs tls_cert and tls_key"),
            (config_with_tls(tls_cert="/nowhere.pem"), "/nowhere.pem: No such file"),
            (config_with_tls(tls_cert=key), "cannot use the certificate"),
            (config_with_tls(tls_key=other), "key values mismatch"),
            (config_with_tls(tls_key="key.pem"), "an absolute path")):
        server = harness.Server(build, config=config)
        try:
            status = server.wait(harness.START_SECONDS)
            expect(status == 1 and words in server.err.text, server.report())
        finally:
            server.end()
            server.folder.cleanup()


def data_port(pid):
    """Where a backend process listens for TCP."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                return int(fields[1].split(":")[1], 16)
    raise harness.Failure(f"process {pid} does not listen")


def test_who_has_no_ticket(build):
    """At the port where data comes: nothing but a ticket is good, and others notice nothing."""
    with harness.serving(build, config=config_with_tls()) as server:
        with harness.running([build.program("endless"), "kernel"],
                             environment(build, server)) as program:
            program.wait_for_line("started", 60)
            port = data_port(server.backends()[0])
            for options in (["-psk", "00" * 32, "-psk_identity", "sixteen letters."],
                            ["-CAfile", harness.authority().ca], ["-tls1_2"]):
                stranger = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                    check=False)
                expect(stranger.returncode != 0 and "alert" in stranger.stderr, stranger.stderr)
            wait_until(lambda: "this ticket is not known here" in server.err.text, 10,
                       server.report())
            expect(program.running(), program.report())
        expect(transport(build, server) == "tls", "and it serves on")


def test_programs_with_an_openssl_of_their_own(build):
    with harness.serving(build, config=config_with_tls()) as server:
        env = environment(build, server)
        harness.run_passing([build.path("tests", "guests", "other_openssl")], env)
        process = harness.run([sys.executable, "-c", OWN_OPENSSL], env)
        expect(process.out.text == "0 0 same", process.report())


OWN_OPENSSL = """
import ctypes, hashlib, ssl
def use():
    return hashlib.new("sha3_256", b"x").hexdigest(), ssl.create_default_context().get_ciphers()
before = use()
cuda = ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
found, context = cuda.cuInit(0), ctypes.c_void_p()
print(found, cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
      "same" if use() == before else "changed")
"""


if __name__ == "__main__":
    harness.main(globals())

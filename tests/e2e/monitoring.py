#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/livez, /readyz and /metrics: what monitoring reads of a gpuaasd."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from lib import ctl, harness
from lib.harness import expect, wait_until
from lib.metrics import get, metrics_of, place_of
from lib.player import Player
from lib.turn_taker import turn_takers


def serving(build, *more, gpus=2):
    return harness.serving(build, gpus=gpus, keys=["http = 127.0.0.1:0", "node = n1", *more])


def test_answers(build):
    with serving(build) as server:
        place = place_of(server)
        expect(get(place, "/livez")[:2] == (200, "ok\n"), "livez")
        server.wait_spares()
        expect(get(place, "/readyz")[:2] == (200, "ok\n"), get(place, "/readyz"))
        status, text, _ = get(place, "/readyz?verbose")
        expect(status == 200 and {"ok serving", "ok gpu", "ok store", "ok taking programs"}
               <= set(text.splitlines()), text)
        expect(get(place, "/nothing")[0] == 404, "404")
        expect(get(place, "/metrics", "POST", b"x" * 100000)[0] in (405, 413), "POST")
        expect(get(place, "/livez", "HEAD")[:2] == (200, ""), "HEAD")


def test_numbers(build):
    with serving(build) as server:
        place = place_of(server)
        traces = harness.Traces(server)
        found = metrics_of(place)
        expect(found["gpuaas_up"] == 1 and found["gpuaas_sessions"] == 0, found)
        memory = sorted(value for name, value in found.items() if "gpu_memory_total" in name)
        expect(memory == [1 << 30, 2 << 30], memory)
        expect(sum('state="ready"' in name and 'node="n1"' in name for name in found) == 2, found)
        expect(found['gpuaas_backend_processes{state="spare"}'] == 1, found)
        expect(sum('policy="none"' in name for name in found) == 2, found)
        with harness.running([build.program("endless"), "kernel"],
                             build.remote([server])) as program:
            program.wait_for_line("started", 60)
            found = metrics_of(place)
            expect(found["gpuaas_sessions"] == 1 and
                   found['gpuaas_tenant_sessions{tenant="default"}'] == 1 and
                   found['gpuaas_tenant_memory_bytes{tenant="default"}'] >= 4 and
                   found['gpuaas_connections{stage="active"}'] == 1, found)
            descriptors = len(server.descriptors())
            expect(abs(found["process_open_fds"] - descriptors) <= 2,
                   f"{found['process_open_fds']} {descriptors}")
        wait_until(lambda: metrics_of(place)["gpuaas_sessions"] == 0, 10, "it is gone")
        traces.expect_none()


def test_all_are_documented(build):
    """docs/metrics.md has the families that there are, with their types."""
    with open(os.path.join(ctl.ROOT, "docs", "metrics.md"), encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| (`.*?) \| ([a-z, ]+) \|", file.read())
    documented = {}
    for names, types in rows:
        names, types = re.findall(r"`(\w+)`", names), types.split(", ")
        types = types if len(types) == len(names) else types * len(names)
        documented.update(zip(names, types))
    with serving(build) as server:
        served = dict(re.findall(r"(?m)^# TYPE (\w+) (\w+)$", get(place_of(server), "/metrics")[1]))
    expect(documented == served, f"{set(documented.items()) ^ set(served.items())}")


def test_scheduling(build):
    config = harness.configuration(1, keys=["http = 127.0.0.1:0"]) + "policy = rr\n"
    with harness.serving(build, config=config) as server, \
            turn_takers(build, server, ["calls"]) as (player,):
        found = metrics_of(place_of(server))
        expect(any('policy="rr"' in name for name in found), found)
        expect('gpuaas_tenant_turns_wanted{tenant="default"}' in found and
               any(name.startswith('gpuaas_tenant_turn_wait_seconds_total{tenant="default",gpu=')
                   for name in found), found)
        expect(sum(value for name, value in found.items()
                   if name.startswith("gpuaas_gpu_decisions_total")) > 0, found)
        player.finish()


def test_counters_of_work(build):
    """The sums of a tenant's programs on a GPU stay when they have gone, and grow; they are those
    of `gpuaasctl usage`, and the GPU's are those of all tenants."""
    def sums(place, what, **labels):
        return sum(value for name, value in metrics_of(place).items()
                   if name.startswith(f"gpuaas_{what}{{") and
                   all(f'{label}="{word}"' in name for label, word in labels.items()))

    def done(place, build, env, times):
        harness.run_passing([build.program("vector_add")], env)
        wait_until(lambda: metrics_of(place)["gpuaas_sessions"] == 0, 20, "it has gone")
        wait_until(lambda: sums(place, "tenant_sessions_begun_total", tenant="lab") == times, 20,
                   "it was a session")
        return {what: sums(place, f"tenant_{what}_total", tenant="lab")
                for what in ("gpu_seconds", "engine_seconds", "received_bytes", "sent_bytes",
                             "launches")}

    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        keys = f"http = 127.0.0.1:0\nauth = on\nstore = {folder}/store.db\nnode = n1"
        with harness.serving(build, config=ctl.configuration(folder, keys=keys)) as server:
            place, admin = place_of(server), ctl.Ctl(build, folder)
            token = os.path.join(folder, "lab.token")
            admin.run("tenant", "add", "lab", "sessions=3")
            admin.run("token", "issue", "lab", "--out", token)
            env = build.remote([server], GPUAAS_TOKEN_FILE=token)
            first = done(place, build, env, 1)
            expect(all(value > 0 for value in first.values()), f"{first}")
            expect('gpuaas_tenant_sessions{tenant="lab"}' in metrics_of(place), "it stays, as 0")
            second = done(place, build, env, 2)
            expect(all(second[what] > first[what] for what in first), f"{first} {second}")
            for what in ("busy_seconds", "engine_seconds", "received_bytes", "sent_bytes",
                         "launches"):
                mine = second[what.replace("busy", "gpu")]
                expect(abs(sums(place, f"gpu_{what}_total", node="n1") - mine) < 1e-6, what)

            def told():
                usage = admin.items("usage", "lab")  # written up to a second later
                return len(usage) == 1 and usage[0]["launches"] == second["launches"] and \
                    abs(usage[0]["gpu_time_ms"] / 1000 - second["gpu_seconds"]) < 0.002
            wait_until(told, 20, f"usage: {admin.items('usage', 'lab')} {second}")
            name = ('gpuaas_credential_expiry_timestamp_seconds{kind="token",scope="tenant",'
                    'tenant="lab",user=""}')
            end = wait_until(lambda: metrics_of(place).get(name), 30, "the end of the token")
            expect(abs(end - time.time() - 90 * 86400) < 3600, f"{end}")
            free = metrics_of(place)['gpuaas_disk_free_bytes{of="store"}']
            expect(free > 1 << 20, f"{free}")


def test_memory_of_tenants_on_gpus(build):
    """A series for each tenant and GPU that have to do with each other, and no more."""
    def series(place, name):
        return {labels: value for labels, value in metrics_of(place).items()
                if labels.startswith(name + "{")}

    with serving(build, "auth = off") as server, \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        place, name = place_of(server), "gpuaas_tenant_gpu_memory_bytes"
        expect(player.ask("take 3") == "took", player.report())
        first = series(place, name)
        expect(len(first) == 1 and min(first.values()) >= 3 << 20 and
               all('tenant="default",gpu="GPU-' in labels for labels in first), f"{first}")
        expect(player.ask("device 1") == "changed" and player.ask("take 5") == "took",
               player.report())
        both = series(place, name)
        expect(len(both) == 2 and max(both.values()) >= 5 << 20 and
               sum(both.values()) == sum(series(place, "gpuaas_tenant_memory_bytes").values()),
               f"{both}")


def test_tenants_beside_each_other(build):
    """Each family is in one piece (metrics_of looks), and has a line of each tenant."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder, \
            contextlib.ExitStack() as stack:
        keys = f"http = 127.0.0.1:0\nauth = on\nstore = {folder}/store.db"
        config = ctl.configuration(folder, keys=keys)
        server = stack.enter_context(harness.serving(build, config=config))
        admin = ctl.Ctl(build, folder)
        for tenant in ("lab", "shop"):
            token = os.path.join(folder, f"{tenant}.token")
            admin.run("tenant", "add", tenant, "gpu-mem=64MiB", "sessions=3")
            admin.run("token", "issue", tenant, "--out", token)
            player = stack.enter_context(contextlib.closing(
                Player(build, build.remote([server], GPUAAS_TOKEN_FILE=token))))
            expect(player.ask("take 3") == "took", player.report())
        found = metrics_of(place_of(server))
        for tenant in ("lab", "shop"):
            mine = {re.match(r"gpuaas_tenant_(\w+)", name).group(1): value
                    for name, value in found.items()
                    if "gpuaas_tenant_" in name and f'tenant="{tenant}"' in name and
                    "_total{" not in name}
            expect(mine.keys() == {"sessions", "sessions_limit", "memory_bytes", "turns_wanted",
                                   "memory_limit_bytes", "gpu_memory_bytes"},
                   f"{mine}")
            expect(mine["sessions"] == 1 and mine["sessions_limit"] == 3 and
                   mine["memory_bytes"] == mine["gpu_memory_bytes"] >= 3 << 20 and
                   mine["memory_limit_bytes"] == 64 << 20, f"{mine}")


def test_ends_by_silence(build):
    """A program that gives no sign of life has not left; one that is killed has."""
    def closed(place, reason):
        return metrics_of(place)[f'gpuaas_sessions_closed_total{{reason="{reason}"}}']

    with serving(build, "dead_after_s = 2") as server:
        place = place_of(server)
        with contextlib.closing(Player(build, build.remote([server]))) as player:
            expect(player.ask("take 1") == "took", player.report())
        wait_until(lambda: closed(place, "client_exit") == 1, 20, "it was killed")
        with contextlib.closing(Player(build, build.remote([server]))) as player:
            expect(player.ask("take 1") == "took", player.report())
            player.kill(signal.SIGSTOP)
            wait_until(lambda: "no sign of life" in server.err.text, 30, server.report())
        wait_until(lambda: closed(place, "timeout") == 1, 20, "it was silent")
        expect(closed(place, "client_exit") == 1, "that is another end")


def test_draining(build):
    with serving(build, "drain_s = 300") as server:
        place = place_of(server)
        with harness.running([build.program("endless"), "kernel"],
                             build.remote([server])) as program:
            program.wait_for_line("started", 60)
            server.kill(signal.SIGTERM)
            wait_until(lambda: get(place, "/readyz")[0] == 503, 10, "it takes no programs")
            expect("not taking programs: drained: the server is being stopped" in
                   get(place, "/readyz")[1], get(place, "/readyz"))
            expect(get(place, "/livez")[0] == 200, "it lives")
            expect(any('state="draining"' in name for name in metrics_of(place)), "its GPUs drain")
        expect(server.wait(20) == 0, server.report())


def test_certificate_that_ends_soon(build):
    cert, key = harness.authority().sign("soon", "IP:127.0.0.1", 1)
    config = re.sub(r"(?m)^tls_(cert|key) = .*\n", "", harness.with_tls(harness.configuration(1)))
    config = harness.with_keys(config, "http = 127.0.0.1:0", f"tls_cert = {cert}",
                               f"tls_key = {key}")
    with harness.serving(build, config=config) as server:
        status, text, _ = get(place_of(server), "/readyz")
        expect(status == 503 and f"not certificate: {cert} ends in 2" in text and
               " hours, at 20" in text, text)


WHOLE = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
BADLY = 600
ANSWER_SECONDS = 4  # less than any of their connections stays for


def says(words):
    return lambda one: one.sendall(words)


def says_half_and_shuts(one):
    one.sendall(WHOLE[:20])
    one.shutdown(socket.SHUT_WR)


def reads_nothing(one):
    one.sendall(WHOLE.replace(b"livez", b"metrics") * 20)


def badly(address, count, how, source):
    """Opens connections from there that do so; returns sockets that are still open."""
    held = []
    for _ in range(count):
        one = socket.socket()
        held.append(one)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        one.settimeout(20)
        one.bind((source, 0))
        with contextlib.suppress(ConnectionError):
            one.connect(address)
            how(one)
    return held


def test_who_asks_badly(build):
    """Beside any number of connections that ask half, nothing, or read no answer, programs are
    served, and whoever asks is answered at once; also from an address of theirs, and while they go
    on coming."""
    with serving(build) as server:
        place = place_of(server)
        host, port = place.split(":")
        for how in (says(b""), says(b"G"), says(WHOLE[:-2]), says_half_and_shuts, says(WHOLE),
                    reads_nothing, says(b"\x16\x03\x01")):
            for source in ("127.0.0.1", "127.0.0.2"):
                held = []
                for _ in range(3):
                    held += badly((host, int(port)), BADLY // 3, how, source)
                    for path in ("/livez", "/readyz", "/metrics"):
                        expect(get(place, path, timeout=ANSWER_SECONDS)[0] == 200, path)
                for one in held:
                    one.close()
        harness.run_passing([build.program("hello")], build.remote([server]))
        for junk in (b"\0" * 4000, b"GET " + b"x" * 60000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection((host, int(port)), timeout=20) as one:
                one.sendall(junk)
        expect(get(place, "/livez")[0] == 200, "it answers")


def test_words_of_the_configuration(build):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        for value, words in ((f"127.0.0.1:{busy.getsockname()[1]}", "in use"),
                             ("0.0.0.0:9954", "a loopback address and a port"),
                             ("gpu1:9954", "a loopback address and a port"),
                             ("127.0.0.1:x", "[server] http: ")):
            config = harness.configuration(1, keys=[f"http = {value}"])
            server = harness.Server(build, config=config)
            try:
                expect(server.wait(30) == 1 and words in server.err.text, server.report())
            finally:
                server.end()
                server.folder.cleanup()


def test_backend_processes_do_without(build):
    """The library and what it brings are in gpuaasd alone, and there only if they are wanted."""
    def uses(pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
            return "libmicrohttpd" in f.read()
    with serving(build) as server:
        place_of(server)
        expect(uses(server.pid) and not any(map(uses, server.wait_spares())), "wanted")
    with harness.serving(build) as server:
        expect(not uses(server.pid), "not wanted")
    linked = subprocess.run(["readelf", "-d", build.path("bin", "gpuaasd")], check=True,
                            capture_output=True, text=True).stdout
    expect("microhttpd" not in linked, linked)


def test_a_gpu_that_fails(build):
    """Programs in succession end by errors, and a check fails: the GPU gets no new programs. Once
    a check passes it gets them again."""
    if not build.has_failpoints():
        return
    with tempfile.TemporaryDirectory(prefix="gpuaas-e2e-") as folder:
        failpoint = os.path.join(folder, "failpoint")
        with open(failpoint, "w", encoding="ascii") as file:
            file.write("0 fail backend: device checked\n")
        config = ctl.configuration(folder, keys="http = 127.0.0.1:0\nhealth_check_s = 1")
        admin = ctl.Ctl(build, folder)
        with harness.serving(build, config=config,
                             extra={"GPUAAS_FAILPOINT": failpoint}) as server, \
                contextlib.closing(Player(build, build.remote([server]))) as neighbour:
            place = place_of(server)
            expect(neighbour.ask("take 3") == "took", neighbour.report())
            gpu, = admin.items("gpus")
            expect(gpu["health"] == "ok" and gpu["sessions"] == gpu["tenants"] == 1 and
                   gpu["memory_used_bytes"] >= 3 << 20, f"{gpu}")
            harness.run([build.program("wrong_faults")], build.remote([server]), status=None)
            wait_until(lambda: admin.items("gpus")[0]["health"] == "failed", 60, "it has failed")
            gpu, = admin.items("gpus")
            expect("cuMemcpyDtoH: CUDA_ERROR_LAUNCH_FAILED" in gpu["health_reason"] and
                   gpu["state"] == "ready", f"{gpu}")
            admin.run("health", status=ctl.ERROR)
            found = metrics_of(place)
            expect(sum(found[name] for name in found if "gpu_memory_used" in name) >= 3 << 20 and
                   found['gpuaas_tenant_memory_bytes{tenant="default"}'] >= 3 << 20 and
                   found['gpuaas_sessions_closed_total{reason="client_exit"}'] >= 3, found)
            expect(any("gpu_state" in name and 'state="failed"' in name for name in found) and
                   any("gpu_errors_total" in name and found[name] >= 1 for name in found), found)
            status, text, _ = get(place, "/readyz?verbose")
            expect(status == 503 and "not gpu" in text, text)
            refused = harness.run([build.program("hello")], build.remote([server]), status=1)
            expect("GPU 0 has failed" in refused.err.text and "(46," in refused.out.text,
                   refused.report())
            expect(neighbour.free() > 0, "what runs goes on")
            os.remove(failpoint)
            wait_until(lambda: admin.items("gpus")[0]["health"] == "ok", 60, "it works again")
            expect("works again" in server.err.text, server.report())
            harness.run_passing([build.program("hello")], build.remote([server]))
            wait_until(lambda: len(admin.items("sessions")) == 1, 20, "hello has gone")
            session, = admin.items("sessions")
            admin.run("sessions", "kill", session["id"], "--yes")
            wait_until(lambda: metrics_of(place)[
                'gpuaas_sessions_closed_total{reason="killed"}'] == 1, 20, "it was killed")


if __name__ == "__main__":
    harness.main(globals())

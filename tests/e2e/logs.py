#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log of a server and of a program: its lines, as text or JSON, and their number."""

import json
import re
import socket
import struct
import threading
import time

from lib import harness
from lib.harness import LINE, expect, wait_until

HEADER = struct.Struct("<IHHQ")  # api/wire.h
OPEN, REFUSED = 4, 3
FLOOD = 20000  # lines that a client wants written
# A GPU whose driver has something to say by itself, in each process that opens it
TALKS = "timing = yes\nexecute = no\n"


def text_record(line):
    match = LINE.fullmatch(line)
    expect(match, f"no line of the log: {line!r}")
    return {key: value for key, value in match.groupdict().items() if value is not None}


def json_record(line):
    record = json.loads(line)
    expect(isinstance(record, dict) and {"time", "level", "process", "pid", "msg"} <= set(record) <=
           {"time", "level", "process", "pid", "client", "msg"}, f"keys of {line!r}")
    expect(re.fullmatch(LINE.pattern.split(") ")[0].replace("(?P<time>", ""), record["time"]),
           f"the time of {line!r}")
    return {**record, "pid": str(record["pid"])}


def records_of(build, log_format, parse):
    """All that a server says of a program."""
    config = harness.configuration(1, keys=["log_level = debug",
                                            f"log_format = {log_format}"]) + TALKS
    with harness.serving(build, config=config) as server:
        env = build.remote([server])
        program = harness.run([build.program("says_where")], env, status=None)
        wait_until(lambda: "gone" in server.err.text, 20, "the server says that it is gone")
    lines = server.err.lines
    expect(len(lines) > 5, server.report())
    return program, [parse(line) for line in lines]


def check_records(program, records):
    def found(process, msg):
        matching = [record for record in records
                    if record["process"] == process and re.search(msg, record["msg"])]
        expect(matching, f"{process} has not said {msg!r}: {records}")
        return matching[0]
    connected = found("gpuaasd", rf"^says_where \(pid {program.pid}\): connected$")
    expect(connected["client"].startswith("127."), f"the address in {connected}")
    for record, level in ((found("gpuaasd", rf"^says_where \(pid {program.pid}\): gone$"), "info"),
                          (found("gpuaasd-backend", "ga_launch"), "debug")):
        expect(record.get("client") == connected["client"], f"{record}, {connected}")
        expect(record["level"] == level, f"{record}")
    expect("client" not in found("gpuaasd", "^ready "), "nobody's line names a client")
    own = found("gpuaasd-backend", "execute = no")
    expect("KERNELS ARE NOT RUN" in own["msg"], f"the driver's own: {own}")


def test_text(build):
    check_records(*records_of(build, "text", text_record))


def test_json(build):
    check_records(*records_of(build, "json", json_record))


def test_json_of_a_program(build):
    env = {**build.local(), "GPUAAS_LOG_FORMAT": "json"}
    process = harness.run_passing([build.program("says_where")], env)
    told = [json_record(line) for line in process.err.lines]
    expect(len(told) == 1 and told[0]["level"] == "error" and
           told[0]["msg"].startswith("softgpu: kernel "), process.report())


def test_faults_look_alike(build):
    """A fault of a kernel is reported in the same words wherever its GPU is."""
    def told(env):
        process = harness.run_passing([build.program("says_where")], env)
        records = [text_record(line) for line in process.err.lines]
        errors = [record for record in records if record["level"] == "error"]
        expect(len(errors) == 1, process.report())
        record = errors[0]
        expect(record["pid"] == str(process.pid), process.report())
        del record["pid"], record["time"]
        record["msg"] = re.sub(r"0x\w+|\d+ bytes", "N", record["msg"])  # where memory lies
        return record
    local = told(build.local())
    with harness.serving(build, gpus=1) as server:
        remote = told(build.remote([server]))
    expect(local == remote, f"{local}\n{remote}")


def test_wrong_level(build):
    """The error is reported once, with the allowed values; the other lines are those without it."""
    def check(env):
        process = harness.run_passing([build.program("hello")],
                                      {**env, "GPUAAS_LOG": "all", "GPUAAS_LOG_FORMAT": "xml"})
        expect([text_record(line)["msg"] for line in process.err.lines] ==
               ["GPUAAS_LOG=all: it can be error, warn, info or debug",
                "GPUAAS_LOG_FORMAT=xml: it can be text or json"], process.report())
    check(build.local())
    with harness.serving(build, gpus=1) as server:
        check(build.remote([server]))


def test_lists_are_whole(build):
    """Things that are reported one by one, as servers that do not answer, have a line each."""
    dead = [f"127.0.0.1:{port}" for port in range(1, 15)]  # where nobody listens
    with harness.serving(build, gpus=1) as server:
        env = build.environment(build.path("lib", "gpuaas"),
                                {"GPUAAS_SERVERS": ",".join([*dead, server.address])})
        process = harness.run_passing([build.program("hello")], env)
        told = [text_record(line)["msg"].split(" is left out: ")[0] for line in process.err.lines]
        expect(told == [f"server {place}" for place in dead], process.report())


def greeting(build):
    """The first frame that a program says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": place})
        with harness.running([build.program("hello")], env):
            listener.settimeout(60)
            conn, _ = listener.accept()
            with conn:
                said = b""
                while len(said) < HEADER.size or \
                        len(said) < HEADER.size + HEADER.unpack_from(said)[0]:
                    said += conn.recv(4096)
    return said[:HEADER.size + HEADER.unpack_from(said)[0]]


def flood(server, hello):
    """A client that asks for a device that there is not, again and again; the refusals it got."""
    host, port = server.place.rsplit(":", 1)
    wrong = HEADER.pack(16, OPEN, 0, 7) + struct.pack("<IIQ", 9999, 0, 0)
    answers = bytearray()
    with socket.create_connection((host, int(port)), 60) as conn:
        def send():
            conn.sendall(hello)
            for _ in range(FLOOD // 100):
                conn.sendall(wrong * 100)
        sender = threading.Thread(target=send)
        sender.start()
        refused, at = 0, 0
        while refused < FLOOD:
            data = conn.recv(1 << 16)
            expect(data, f"the server has ended the connection\n{server.report()}")
            answers += data
            while len(answers) - at >= HEADER.size:
                length, opcode, _, _ = HEADER.unpack_from(answers, at)
                if len(answers) - at < HEADER.size + length:
                    break
                refused += opcode == REFUSED
                at += HEADER.size + length
        sender.join()


def test_flood(build):
    """Lines of one kind are counted, from ten a second on, and the count is told."""
    hello = greeting(build)
    with harness.serving(build, gpus=1) as server:
        begin = time.monotonic()
        flood(server, hello)
        seconds = time.monotonic() - begin
        time.sleep(1)
        server.kill(10)  # SIGUSR1: whatever is said next
        pattern = r"(\d+) lines of this kind were left out: %s: refused: %s"
        wait_until(lambda: "report: " in server.err.text, 20, "it reports")
        refusals = sum(": refused: there is no such device" in line for line in server.err.lines)
        counted = sum(int(number) for number in re.findall(pattern, server.err.text))
        expect(refusals + counted == FLOOD, f"{refusals} + {counted} lines")
        expect(10 <= refusals <= 10 * (seconds + 2), f"{refusals} lines in {seconds:.1f} s")
        print(f"{FLOOD} refusals in {seconds:.2f} s: {len(server.err.text)} bytes")


if __name__ == "__main__":
    harness.main(globals())

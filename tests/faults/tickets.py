#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording of how a program came in lets nobody in: the first bytes of its connections are sent
again, while the ticket is good and when it has expired. Each time the answer is no, with the
reason, and the program goes on and computes rightly.

A relay stands between program and backend process, where the server tells programs to connect
(advertise_address): it passes everything on, and keeps a copy. Over RDMA that is an offer of queue
pairs as well: a second one to the same must not disturb the first."""

import contextlib
import ipaddress
import re
import socket
import struct
import threading
import time

import check
from check import Checker, expect, wait_until
from lib import harness

ANSWER_SECONDS = 30
EXPIRY_SECONDS = 60
COPY_MAX = 65536  # bytes of a connection that are kept
HEADER = struct.Struct("<IHHQ")  # api/wire.h
DATA_HELLO, REFUSED = 8, 3
TLS_ALERT, TLS_RECORD = 21, 5  # a kind of record, and the bytes before its content
OFFER, OFFER_BYTES = b"rdma", 64  # transport/rdma/rdma_endpoint.h


class Relay:
    """Listens at `host` for connections that are meant for the same port of `target`."""

    def __init__(self, host, target):
        self.target = target
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.said = []  # of each connection: what its client has said first
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.target, self.port))
                self.sockets += [client, server]
                copy = bytearray()
                self.said.append(copy)
                for source, to, kept in ((client, server, copy), (server, client, None)):
                    threading.Thread(target=pump, args=(source, to, kept), daemon=True).start()

    def close(self):
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def pump(source, to, kept):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if kept is not None and len(kept) < COPY_MAX:
                kept += data
            to.sendall(data)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_WR)


def first_message(said):
    """The frame, or the record of TLS, that a connection begins with; None: not all of it yet."""
    if len(said) < HEADER.size:
        return None
    if harness.TRANSPORT == "tls":
        size = TLS_RECORD + int.from_bytes(said[3:5], "big")
    else:
        before = OFFER_BYTES if said[:4] == OFFER else 0
        if len(said) < before + HEADER.size:
            return None
        length, opcode, _, _ = HEADER.unpack_from(said, before)
        expect(opcode == DATA_HELLO, f"opcode {opcode} comes first")
        size = before + HEADER.size + length
    return bytes(said[:size]) if len(said) >= size else None


def answer_to(host, port, message, seconds=ANSWER_SECONDS):
    """All that the backend process says to it before it closes the connection."""
    with socket.create_connection((host, port), seconds) as conn:
        conn.settimeout(seconds)
        conn.sendall(message)
        return b"".join(iter(lambda: conn.recv(65536), b""))


def is_alert(answer):
    return answer[:1] == bytes([TLS_ALERT]) and len(answer) < 32


def used_up(host, port, message):
    """Over TLS a ticket has a key for as long as one of the two connections that it is for may
    still come; the second one comes when the program computes already."""
    with contextlib.suppress(TimeoutError):
        return is_alert(answer_to(host, port, message, 1))
    return False


def expect_no(answer, why):
    """In the clear it says why. With TLS who has no key learns nothing: an alert and the end."""
    if harness.TRANSPORT == "tls":
        expect(is_alert(answer), f"an alert is due: {answer}")
        return
    if answer[:4] == OFFER:
        answer = answer[OFFER_BYTES:]
    expect(len(answer) > HEADER.size and HEADER.unpack_from(answer)[1] == REFUSED and
           why.encode() in answer, f"a refusal is due, {why!r}: {answer}")


def configuration(host, relay, ticket_s):
    lines = "\n".join([f"data_ports = {relay.port}", f"advertise_address = {relay_host(relay)}",
                       f"ticket_s = {ticket_s}"])
    patient = re.sub(r"(?m)^ticket_s = .*\n", "", harness.configuration(2, host))
    return patient.replace("data_ports = 0", lines)


def places():
    """The ends of the server, and of the relay. Over RDMA both are the card's, as vm.sh makes
    it."""
    if harness.TRANSPORT == "rdma":
        return harness.HOST, str(ipaddress.ip_address(harness.HOST) + 1)
    return check.own_host(), check.own_host()


def relay_host(relay):
    return relay.listener.getsockname()[0]


@contextlib.contextmanager
def overheard(build, ticket_s):
    """A server, and a program that computes there until the end, where it must have been right all
    the time; what is given says its first messages again and returns the answers."""
    host, between = places()
    with contextlib.closing(Relay(between, host)) as relay, \
            harness.serving(build, config=configuration(host, relay, ticket_s)) as server:
        checker = Checker(build, server)
        program = check.start_steps(build, [server], rounds=0)
        try:
            program.wait_for_line("started", 60)
            messages = [first_message(said) for said in relay.said]
            expect(len(messages) >= 2 and all(messages), f"{len(messages)} connections")
            offers = sum(message.startswith(OFFER) for message in messages)
            expect(offers == (harness.TRANSPORT == "rdma"), f"{offers} offers of RDMA")
            backends = server.backends()
            if harness.TRANSPORT == "tls":
                wait_until(lambda: used_up(host, relay.port, messages[0]), ANSWER_SECONDS,
                           "both connections have shown the ticket")
            yield server, lambda: [answer_to(host, relay.port, message) for message in messages]
            expect(server.backends() == backends, server.report())
            expect(program.running(), f"the session has ended\n{program.report()}")
            program.kill(15)
            expect(check.victim_result(program) == 0, program.report())
        finally:
            program.end()
        checker.check()


def expect_told(server, why, count):
    wait_until(lambda: server.err.text.count(f"a connection was refused: {why}") >= count,
               ANSWER_SECONDS, f"the server says {why!r}\n{server.report()}")


def test_used_ticket(build):
    why = "the ticket has been used"
    with overheard(build, ticket_s=600) as (server, say_again):
        for turn in (1, 2):
            answers = say_again()
            for answer in answers:
                expect_no(answer, why)
            expect_told(server, why, turn * len(answers))


def test_expired_ticket(build):
    why = "the ticket has expired"
    with overheard(build, ticket_s=5) as (server, say_again):
        deadline = time.monotonic() + EXPIRY_SECONDS
        while why not in server.err.text:
            say_again()
            expect(time.monotonic() < deadline, f"it does not expire\n{server.report()}")
            time.sleep(0.2)
        before = server.err.text.count(why)
        answers = say_again()
        for answer in answers:
            expect_no(answer, why)
        expect_told(server, why, before + len(answers))


if __name__ == "__main__":
    harness.main(globals())

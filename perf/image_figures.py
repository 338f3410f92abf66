# SPDX-License-Identifier: Apache-2.0
"""The cost of naming an image of a module (SHA-256) instead of sending it. The floor is one reading
of the same bytes; beside it, the time that plain sockets need to send them."""

import functools

import figures
from figures import ANSWER, KB, MB, RING, Figure


@functools.cache
def digester(rig):
    return rig.speaker([rig.build.path("perf", "perf_digest"), str(rig.client_core)])


def milliseconds(answer, count):
    return answer["ns"] / count / 1e6


def digest_turn(whole, count):
    def turn(bench):
        number = bench.count(count)
        size = whole if bench.scale > 0.01 else min(whole, MB)  # of a check nobody reads the time
        sent = bench.exchange(size, min(size, 64 * MB), RING, ANSWER, 64 * KB, number)
        return {"floor": milliseconds(digester(bench.rig).ask("read", size, number), number),
                "ours": milliseconds(digester(bench.rig).ask("digest", size, number), number),
                "sent by TCP": milliseconds(sent, number),
                "a round trip": figures.ping_pong(bench) / 1e3}
    return turn


def all_figures():
    return [Figure(f"digest_{key}", f"name of an image, {label}", "ms", True,
                   digest_turn(size, count))
            for key, label, size, count in (("64k", "64 KiB", 64 * KB, 2000),
                                            ("20m", "20 MiB", 20 * MB, 10),
                                            ("1g", "1 GiB", 1024 * MB, 1))]

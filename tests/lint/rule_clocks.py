# SPDX-License-Identifier: Apache-2.0
"""Waits with a deadline use a clock that nobody sets (base/wait.h): with the wall clock a wait
could take hours, or no time at all. Other uses of the wall clock are listed here with their
reasons. Some rooms of the server use no clock at all."""

import re

from rule_includes import room_of

# Functions that wait by the wall clock, and the clock itself
WALL = re.compile(r"\b(pthread_cond_timedwait|pthread_mutex_timedlock|pthread_rwlock_timed\w+|"
                  r"sem_timedwait|mq_timed\w+|CLOCK_REALTIME\w*|gettimeofday|TIME_UTC)\b")
# Rooms of gpuaasd that know no time of their own: it is handed in (server/timers.h), so that a test
# can say what time it is, and a gpuaasd that stood still charges that to nobody. The others below
# the core have reasons: `turns` has a thread that must go on while the loop does not; `storage`
# measures how long its threads wait for a disk.
TIMELESS = {"access", "applications", "clients", "monitoring", "placement", "processes", "seats",
            "sharing", "tenants", "usage"}
TIME = re.compile(r"\b(uv_timer\w*|uv_now|uv_hrtime|uv_update_time|ga_clock_ns|clock_gettime|"
                  r"time\(NULL\))")
# Those of them that have a loop all the same: for sockets and processes (processes, clients,
# monitoring), or to hear of what a thread has done (access, usage).
IO = {"access", "clients", "monitoring", "processes", "usage"}
LOOP = re.compile(r"\b(uv_\w+|uv\.h)")
ALLOWED = {
    "base/wait.h": {"pthread_cond_timedwait"},  # by the other clock: ga_cond_init
    "client/process/cancellation.c": {"pthread_cond_timedwait"},  # stands before the C library's
    "base/log.c": {"CLOCK_REALTIME"},  # when a line was written
    "front/core/log.c": {"CLOCK_REALTIME"},  # likewise
    "server/gpuaasd/loop_timers.c": {"CLOCK_REALTIME"},  # handed to the rooms
    "tests/e2e/wall_clock.c": {"CLOCK_REALTIME"},  # makes it wrong
    "server/backend/sandbox_list.h": {"gettimeofday"},  # a name in a list
    "softgpu/exec/misc.c": {"CLOCK_REALTIME"},  # %globaltimer
}


def check(tree):
    for file in tree.with_suffix(".c", ".h"):
        room = room_of(file.path) if file.folder == "server" else None
        for number, line in enumerate(file.lines, 1):
            for name in TIME.findall(line) if room in TIMELESS else []:
                yield file.finding(number, f"{name}: this room takes the time, and starts "
                                   "timers, by server/timers.h")
            for name in LOOP.findall(line) if room in TIMELESS - IO else []:
                yield file.finding(number, f"{name}: this room has no sockets, and no loop")
        allowed = ALLOWED.get(file.path, set())
        for number, line in enumerate(file.lines, 1):
            for name in WALL.findall(line):
                if name not in allowed:
                    yield file.finding(number, f"{name}: by the wall clock; wait with base/wait.h")

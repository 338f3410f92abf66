# SPDX-License-Identifier: Apache-2.0
"""A server beyond a wire between two namespaces that takes 40 MB/s each way."""

import contextlib
import os
import sys

from lib import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "perf"))
import far  # noqa: E402  (found by the line above)


def run(build, delay_ms, config, check):
    """check(server) runs at the near end."""
    try:
        link = far.Link(build.path("perf", "perf_link"), delay_ms, 40e6)
    except OSError as error:
        print(f"skipped: no such wire here: {error}")
        return
    with contextlib.closing(link), contextlib.ExitStack() as stack:
        with link.far():
            server = stack.enter_context(
                harness.serving(build, config=config.replace("127.0.0.1", far.FAR)))
        with link.near():
            check(server)

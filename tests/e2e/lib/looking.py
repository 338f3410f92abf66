# SPDX-License-Identifier: Apache-2.0
"""Somebody who looks at a server all the time."""

import contextlib

from lib.evaluator import Program
from lib.harness import expect


@contextlib.contextmanager
def looking(env):
    """A plain CUDA program that has counted the devices. It has a ticket for the first one."""
    with contextlib.closing(Program(env)) as program:
        expect(program.ask("look()")[:2] == (0, 0), program.report())
        yield program

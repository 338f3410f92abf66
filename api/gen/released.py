# SPDX-License-Identifier: Apache-2.0
"""The calls of an earlier release: one line each in api/released/VERSION.txt, `op name hash shape`.

Of such a list two tables are made, as that release had them, so that tests can build an old client
and an old server. A released op never changes: who needs another shape takes a new op.
"""
import types

import codec


def line(call):
    return f"{call.op} {call.name} {codec.signature(call):08x} {codec.shape(call)}"


def listing(model):
    return "".join(line(call) + "\n" for call in model.travelling())


def read(path):
    """op -> line"""
    with open(path, encoding="utf-8") as file:
        lines = [text.rstrip("\n") for text in file if text.strip() and text[0] != "#"]
    return {int(text.split()[0]): text for text in lines}


def differences(model, released):
    """What a build must not have done to released calls; empty: nothing."""
    now = {call.op: line(call) for call in model.travelling()}
    for op, text in sorted(released.items()):
        if op not in now:
            yield f"op {op} is gone: {text}"
        elif now[op] != text:
            yield f"op {op} has changed: take a new op for the new shape\n  {text}\n  {now[op]}"


def only(model, released):
    """As the model, with the travelling calls of the release alone."""
    calls = [call for call in model.travelling() if call.op in released]
    return types.SimpleNamespace(travelling=lambda: calls)

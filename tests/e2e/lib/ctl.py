# SPDX-License-Identifier: Apache-2.0
"""The library of tests of gpuaasctl: a server with an admin socket, and the command, every JSON
document of which is checked against docs/gpuaasctl.schema.json."""

import contextlib
import json
import os
import tempfile

from lib import harness, json_schema
from lib.harness import expect

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3))
OK, ERROR, USAGE, NOT_FOUND, DENIED, CONFLICT, LIMIT, UNREACHABLE, TIMEOUT, PARTIAL = range(10)

with open(os.path.join(ROOT, "docs", "gpuaasctl.schema.json"), encoding="utf-8") as _file:
    SCHEMA = json.load(_file)


class Ctl:
    """`folder`: where the socket and other files of this server are."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.program = build.path("bin", "gpuaasctl")
        self.socket = os.path.join(folder, "admin.sock")
        self.url = None  # of another --server
        self.kinds = set()  # of documents that were checked
        self.env = build.environment(preload=False)

    def run(self, *words, status=OK, server=True, prefix=(), stdin=None):
        url = self.url or f"unix:{self.socket}"
        command = [*prefix, self.program, *(["--server", url] if server else []), *words]
        process = harness.Process(command, self.env, **({"stdin": stdin} if stdin else {}))
        try:
            got = process.wait(60)
        finally:
            process.end()
        expect(status is None or got == status,
               f"{words}: exit status {got}, {status} is due\n{process.report()}")
        expect(status in (None, OK, ERROR) or process.err.text,
               f"{words}: an error without a word\n{process.report()}")
        return process

    def text(self, *words, **options):
        return self.run(*words, **options).out.text

    def wrong(self, status, *words, says=(), **options):
        """One line on stderr, nothing on stdout."""
        process = self.run(*words, status=status, **options)
        expect(len(process.err.lines) == 1 and process.err.text.startswith("gpuaasctl: ") and
               not process.out.text, f"{words}: one line is due\n{process.report()}")
        for text in (says,) if isinstance(says, str) else says:
            expect(text in process.err.text, f"{words}: {text!r} is missing\n{process.report()}")
        return process.err.text

    def json(self, *words, **options):
        document = json.loads(self.text("--json", *words, **options))
        own = SCHEMA["definitions"].get(document["kind"])  # it says more than the whole
        text = json_schema.wrong(document, own, SCHEMA) if own else "its kind is in no schema"
        text = text or json_schema.wrong(document, SCHEMA)
        expect(not text, f"{words}: {text}\n{json.dumps(document, indent=1)}")
        self.kinds.add(document["kind"])
        return document

    def items(self, *words):
        return self.json(*words)["items"]


def configuration(folder, gpus=1, keys="", listen="tcp://127.0.0.1:0"):
    lines = [f"listen = {listen}", "data_ports = 0", f"admin_socket = {folder}/admin.sock"]
    if not keys.startswith("listen"):
        lines.append(keys)
    text = "[server]\n" + "\n".join(lines) + "\n"
    for number in range(gpus):
        text += f"[gpu.{number}]\ndriver = soft\nname = Soft {number}\nmemory = {1 + number}GiB\n"
    return text


@contextlib.contextmanager
def administered(build, **options):
    """A server that is ready, and its command."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-ctl-") as folder:
        config = configuration(folder, **options)
        with harness.serving(build, config=config) as server:
            yield server, Ctl(build, folder)

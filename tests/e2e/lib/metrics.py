# SPDX-License-Identifier: Apache-2.0
"""The answers of gpuaasd's HTTP door, and its metrics as numbers."""

import re
import urllib.error
import urllib.request

from lib.harness import expect


def place_of(server):
    return server.wait_for_line(r"monitoring at http://(\S+:\d+)", 20, server.err).group(1)


def get(place, path, method="GET", body=None, timeout=20):
    """Status, text, and the type of the content."""
    request = urllib.request.Request(f"http://{place}{path}", method=method, data=body)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode(), answer.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers["Content-Type"]


def metrics_of(place):
    """Name and labels -> value; each line must be as Prometheus reads it: HELP, TYPE, and behind
    them all lines of the family."""
    status, text, kind = get(place, "/metrics")
    expect(status == 200 and "version=0.0.4" in kind, f"{status} {kind}")
    found, helped, typed = {}, [None], [None]
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["#", "HELP"]:
            expect(typed == helped and words[2] not in helped and words[3:], f"no HELP: {line}")
            helped.append(words[2])
            continue
        if words[:2] == ["#", "TYPE"]:
            typed.append(words[2])
            expect(typed == helped and words[3] in ("gauge", "counter"), f"no TYPE: {line}")
            expect((words[3] == "counter") == words[2].endswith("_total"), f"no good name: {line}")
            continue
        match = re.fullmatch(r'(\w+)(\{(?:\w+="[^"\n]*",?)*\})? ([0-9.e+-]+)', line)
        expect(match, f"no line of this format: {line}")
        expect(typed == helped and match.group(1) == typed[-1], f"not in its family: {line}")
        expect(match.group(1) + (match.group(2) or "") not in found, f"twice: {line}")
        found[match.group(1) + (match.group(2) or "")] = float(match.group(3))
    return found

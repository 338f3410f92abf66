#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasctl tenant export and import: tenants, users and groups go to another node as they are,
what is there stays, and a dry run refuses what would be refused."""

import json
import os

from lib import ctl, harness, json_schema
from lib.ctl import USAGE
from lib.harness import expect

GIB = 1 << 30


def described(admin):
    """The members that an export has to keep."""
    kept = ("name", "description", "state", "limits", "gpu_types", "isolation", "on_exhausted",
            "tenant", "tenants")
    return [[{key: each[key] for key in kept if key in each} for each in admin.items(kind, "list")]
            for kind in ("tenant", "user", "group")]


def test_export(build):
    with ctl.administered(build) as (_, admin), ctl.administered(build) as (_, other):
        admin.run("tenant", "add", "a", "gpu-mem=3GiB", "gpu-seconds=100h/month", "gpu-types=x, y",
                  "isolation=exclusive", "--desc", "first")
        admin.run("tenant", "add", "b")
        admin.run("tenant", "suspend", "b", "--reason", "unpaid")
        admin.run("tenant", "set-quota", "default", "gpus=3")
        admin.run("user", "add", "a", "ana", "sessions=2")
        admin.run("user", "add", "default", "eve")
        admin.run("user", "suspend", "default", "eve", "--reason", "on leave")
        admin.run("group", "add", "g")
        admin.run("group", "join", "g", "b")
        admin.run("token", "issue", "a")
        text = admin.text("tenant", "export")
        document = json.loads(text)
        wrong = json_schema.wrong(document, ctl.SCHEMA)
        expect(not wrong and "gpuaas_" not in text and "fingerprint" not in text, f"{wrong}")
        path = os.path.join(other.folder, "tenants.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        before = described(other)
        said = other.run("tenant", "import", path, "--dry-run", status=ctl.PARTIAL).err.text
        expect("tenant default: there is" in said and "1 of 6 would not be taken" in said, said)
        expect(described(other) == before, "a dry run makes none")
        other.run("tenant", "set-quota", "default", "gpus=3")
        said = other.run("tenant", "import", path, "--dry-run").err.text
        expect("6 would be there (dry run" in said, said)
        other.run("tenant", "import", path)
        expect(described(other) == described(admin), f"{described(other)} {described(admin)}")
        said = other.run("tenant", "import", path).err.text
        expect("6 are there" in said, f"once more is no error: {said}")
        other.run("tenant", "set-quota", "a", "gpu-mem=1GiB")
        other.run("tenant", "resume", "b")
        other.run("user", "suspend", "a", "ana", "--reason", "x")
        before = described(other)
        said = other.run("tenant", "import", path, status=ctl.PARTIAL).err.text
        expect("3 of 6 could not be taken" in said and
               "tenant a: there is a tenant a with other limits" in said and
               "tenant b: it is active here, and suspended in the file" in said and
               "user ana of a: it is suspended here, and active in the file" in said, said)
        expect(described(other) == before, "what is there stays as it is")
        other.wrong(USAGE, "tenant", "import", "/etc/hostname", says="/etc/hostname:1: ")
        other.wrong(USAGE, "tenant", "import", "/nonexistent", says="/nonexistent: No such file")
        other.wrong(ctl.UNREACHABLE, "--server", "unix:/nonexistent", "tenant", "import", path,
                    server=False)


def test_import_dry_run(build):
    """It refuses what would be refused, also of what belongs to tenants that are not there yet."""
    with ctl.administered(build) as (_, admin):
        path = os.path.join(admin.folder, "tenants.json")
        document = {
            "apiVersion": 1, "kind": "TenantExport",
            "tenants": [{"name": "a", "state": "active", "limits": {"sessions": 2}},
                        {"name": "b c", "state": "active"},
                        {"name": "d", "state": "active", "limits": {"share": 99999}}],
            "users": [{"tenant": "a", "name": "ana", "limits": {"sessions": 2}},
                      {"tenant": "a", "name": "bob", "limits": {"sessions": 3}},
                      {"tenant": "a", "name": "x y"}, {"tenant": "nobody", "name": "eve"}],
            "groups": [{"name": "g", "tenants": ["a", "default"]},
                       {"name": "h", "tenants": ["nobody"]}]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        before = described(admin)
        said = admin.run("tenant", "import", path, "--dry-run", status=ctl.PARTIAL).err.text
        wrong = ["tenant b c: ", "tenant d: share", "user bob of a: its sessions is above",
                 "user x y of a: ", "user eve of nobody: ", "group h: there is no tenant 'nobody'"]
        expect(all(text in said for text in wrong) and "6 of 9 would not be taken" in said and
               len(said.splitlines()) == 7, said)
        expect(described(admin) == before, "a dry run makes none")
        really = admin.run("tenant", "import", path, status=ctl.PARTIAL).err.text
        expect("6 of 9 could not be taken" in really, really)
        expect([each["name"] for each in admin.items("tenant", "list")] == ["a", "default"] and
               [each["name"] for each in admin.items("user", "list")] == ["ana"], "the others")


if __name__ == "__main__":
    harness.main(globals())

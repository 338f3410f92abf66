# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/scheduling.md: the same three applications under each policy."""

import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCENARIO = os.path.join(ROOT, "sim", "scenarios", "policies.ini")
FOLDER = os.path.join(ROOT, "docs", "pictures")


def arguments(parser):
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail unless those that are there are these")


def policies(sim):
    text = subprocess.run([sim, "policies"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.splitlines()]


def draw(sim, policy, path):
    subprocess.run([sim, "run", SCENARIO, "--quiet", "--set", f"run.policy={policy}", "--svg",
                    path, "--from", "1s", "--to", "1600ms"], check=True)


def content(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def check(sim):
    """Every policy has its picture, and the page shows it."""
    page = content(os.path.join(ROOT, "docs", "scheduling.md"))
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.svg")
        for policy in policies(sim):
            name = f"policy-{policy}.svg"
            draw(sim, policy, path)
            if content(path) != content(os.path.join(FOLDER, name)):
                wrong.append(f"docs/pictures/{name} is not what ./dev sim pictures draws")
            if f"(pictures/{name})" not in page.partition(f"\n### `{policy}`")[2].partition(
                    "\n### ")[0]:
                wrong.append(f"docs/scheduling.md does not show {name} where it is about {policy}")
    print("\n".join(wrong))
    return 1 if wrong else 0


def main(options):
    if options.check:
        return check(options.sim)
    os.makedirs(FOLDER, exist_ok=True)
    for policy in policies(options.sim):
        draw(options.sim, policy, os.path.join(FOLDER, f"policy-{policy}.svg"))
    return 0

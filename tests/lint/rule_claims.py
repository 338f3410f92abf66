# SPDX-License-Identifier: Apache-2.0
"""A test shows each claim of SECURITY.md and docs/isolation.md: every item of the sections of
CLAIMS names one in backticks, and it exists. `test_name` after the file of the test names the
function. An item that no test can show says "not tested"."""

import re

# page -> titles of the sections whose list items and rows of tables are claims
CLAIMS = {
    "SECURITY.md": ("What there is",),
    "docs/isolation.md": ("What keeps applications apart", "What a malicious kernel can reach"),
}
ITEM = re.compile(r"^- .*(?:\n  .*)*|^\|(?! *what \||-).*", re.M)
QUOTED = re.compile(r"`([^`]+)`")
TEST = re.compile(r"(?:^|/)tests/.*\.(?:py|cu?|sh)$|^(?:[\w/]*/)?test_\w+\.c$")


def check(tree):
    tests = [file for file in tree.files if "tests" in file.path.split("/")[:-1]]
    for page in tree.files:
        for title in CLAIMS.get(page.path, ()):
            section = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page.text, re.M | re.S)
            if section is None:
                yield page.finding(0, f"no section {title}: say in tests/lint/rule_claims.py "
                                   "which one has the claims")
                continue
            for item in ITEM.finditer(section.group(1)):
                line = page.text.count("\n", 0, section.start(1) + item.start()) + 1
                yield from untested(page, line, item.group(), tests)


def untested(page, line, claim, tests):
    names = [name for name in QUOTED.findall(claim) if TEST.search(name)]
    if not names and "not tested" not in claim:
        yield page.finding(line, "no test shows this: name the test that does, in backticks, or "
                           f"write one, or leave the claim out: {claim[:50]}...")
    for name in names:
        if not any(("/" + file.path).endswith("/" + name) for file in tests):
            yield page.finding(line, f"there is no test {name}: name the one that shows this")
    for function in re.findall(r"`(test_\w+)`", claim):
        if not any(f"def {function}(" in file.text for file in tests):
            yield page.finding(line, f"no test has {function}: name the one that shows this")

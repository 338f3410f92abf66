#!/usr/bin/env python3
"""What `cmake --install` lays out works from where it was put, and has its manual pages, which are
those of these programs."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

import harness
from harness import expect

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def installed(build, prefix):
    harness.run(["cmake", "--install", build.folder, "--prefix", prefix],
                build.environment(preload=False))


def test_installed_programs(build):
    with tempfile.TemporaryDirectory() as prefix:
        installed(build, prefix)
        pages = {os.path.basename(path) for path in glob.glob(prefix + "/share/man/man*/*")}
        expect(pages == {"gpuaas.1", "gpuaasd.8", "gpuaasd.conf.5"}, f"pages: {pages}")
        program = os.path.join(prefix, "bin", "gpuaasd")
        with harness.serving(build, program=program) as server:
            command = [os.path.join(prefix, "bin", "gpuaas"), "run", "--servers", server.address,
                       "--", build.program("vector_add")]
            harness.run_passing(command, build.environment())


def manual(name):
    with open(os.path.join(DOCS, "man", name), encoding="utf-8") as file:
        return file.read()


def test_config_manual_is_of_this_build(build):
    process = harness.run([build.path("bin", "gpuaasd"), "--config-manual"],
                          build.environment(preload=False))
    expect(process.out.text + "\n" == manual("gpuaasd.conf.5"),
           "docs/man/gpuaasd.conf.5 is old: write it with gpuaasd --config-manual")


def test_manuals_name_every_option(build):
    for program, page in (("gpuaasd", "gpuaasd.8"), ("gpuaas", "gpuaas.1")):
        text = manual(page).replace("\\-", "-")
        process = harness.run([build.path("bin", program), "--help"],
                              build.environment(preload=False))
        for option in set(re.findall(r"--\w[\w-]*", process.out.text)):
            expect(option in text, f"{page} does not have {option}")


def test_manuals_render(build):
    expect(shutil.which("groff"), "groff is installed (./dev setup)")
    for path in glob.glob(os.path.join(DOCS, "man", "*")):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True,
                              text=True, check=False)
        expect(done.returncode == 0 and not done.stderr, f"{path}: {done.stderr}")


if __name__ == "__main__":
    harness.main(globals())

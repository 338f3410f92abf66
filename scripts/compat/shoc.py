# SPDX-License-Identifier: Apache-2.0
"""SHOC: the single-process programs at the smallest problem size, without its configure script."""

import os
import subprocess

from rodinia import SHIM
from run import Program

COMMON = ("ResultDatabase.cpp OptionParser.cpp Option.cpp Timer.cpp CTimer.cpp ProgressBar.cpp "
          "InvalidArgValue.cpp Graph.cpp")
STENCIL = "Matrix2DStatics.cpp"
# The result of its configure script on this machine.
CONFIG = """#define HAVE_CLOCK_GETTIME 1
#define HAVE_CLOCK_PROCESS_CPUTIME_ID 1
#define restrict __restrict__
#ifdef __cplusplus
#include <cassert>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
using namespace std; /* the compilers of its time let names be found that are not there yet */
#endif
"""
# name: folder, sources, further sources of src/common, whether common/main.cpp is its main
PROGRAMS = {
    "BusSpeedDownload": ("level0", "BusSpeedDownload.cu", "", True),
    "BusSpeedReadback": ("level0", "BusSpeedReadback.cu", "", True),
    "DeviceMemory": ("level0", "DeviceMemory.cu", "", True),
    "MaxFlops": ("level0", "MaxFlops.cu", "", True),
    "BFS": ("level1/bfs", "BFS.cu bfs_kernel.cu", "", True),
    "FFT": ("level1/fft", "FFT.cpp fftlib.cu", "", True),
    "MD": ("level1/md", "MD.cu", "", True),
    "MD5Hash": ("level1/md5hash", "MD5Hash.cu", "", True),
    "NeuralNet": ("level1/neuralnet", "NeuralNet.cu", "", True),
    "Reduction": ("level1/reduction", "Reduction.cu", "", True),
    "Scan": ("level1/scan", "Scan.cu", "", True),
    "Sort": ("level1/sort", "Sort.cu sort_kernel.cu", "", True),
    "Spmv": ("level1/spmv", "Spmv.cu", "", True),
    "Stencil2D": ("level1/stencil2d", "Stencil2Dmain.cpp CUDAStencil.cpp CUDAStencilFactory.cpp "
                  "CommonCUDAStencilFactory.cpp CUDAStencilKernel.cu", STENCIL, True),
    "Triad": ("level1/triad", "Triad.cu", "", True),
    "S3D": ("level2/s3d", "S3D.cu", "", True),
}
# Programs that cannot run here, and why.
WITHOUT = {"NeuralNet": "needs cuBLAS, whose kernels are machine code"}


def shoc_programs(checkout, work, nvcc, pick, say, copy_tree):
    source = os.path.join(work, "source")
    copy_tree(checkout, source)
    shim = os.path.join(work, "removed_names.h")
    with open(shim, "w") as file:
        file.write(SHIM)
    with open(os.path.join(source, "src/common/config.h"), "w") as file:
        file.write(CONFIG)
    common, cuda = os.path.join(source, "src/common"), os.path.join(source, "src/cuda")
    for name, (folder, sources, further, has_main) in PROGRAMS.items():
        if not pick(name):
            continue
        if name in WITHOUT:
            yield Program(name, None, source, reason=WITHOUT[name])
            continue
        say(f"building {name}")
        folder = os.path.join(cuda, folder)
        binary = os.path.join(folder, "compat_" + name)
        files = sources.split() + [os.path.join(common, one) for one in
                                   (COMMON + " " + further).split()]
        if has_main:
            files.append(os.path.join(cuda, "common/main.cpp"))
        done = subprocess.run([nvcc, "-w", "-O2", "-arch=sm_75", "-include", shim, "-include",
                               os.path.join(common, "config.h"), "-I" + common,
                               "-I" + os.path.join(cuda, "common"), *files, "-o", binary],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line]
            yield Program(name, None, folder, reason=(lines or ["does not compile"])[0][-160:])
            continue
        yield Program(name, [binary, "-s", "1", "-n", "1"], folder)

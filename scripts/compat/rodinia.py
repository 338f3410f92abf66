# SPDX-License-Identifier: Apache-2.0
"""Rodinia: each program by one call of the compiler, with inputs that are made here.

CUDA 13 removed names that most of the programs use; they are given back from outside."""

import os
import random
import subprocess

from run import Program

SHIM = """#include <cuda_runtime.h>
#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#ifndef NO_FIELDS /* they are names of other things, too */
#define deviceOverlap asyncEngineCount
#define clockRate reserved[0]
#define computeMode reserved[1]
#endif
"""


def numbers(path, count, low, high):
    with open(path, "w") as file:
        file.writelines(f"{random.uniform(low, high):.6f}\n" for _ in range(count))


def graph(path, nodes=4096, degree=6):
    with open(path, "w") as file:
        file.write(f"{nodes}\n")
        file.writelines(f"{node * degree} {degree}\n" for node in range(nodes))
        file.write(f"\n0\n\n{nodes * degree}\n")
        file.writelines(f"{random.randrange(nodes)} {random.randrange(1, 10)}\n"
                        for _ in range(nodes * degree))


def points(path, count=2000, features=8):
    with open(path, "w") as file:
        for number in range(count):
            values = " ".join(f"{random.uniform(0, 100):.4f}" for _ in range(features))
            file.write(f"{number} {values}\n")


def hurricanes(folder):
    with open(os.path.join(folder, "hurricanes.db"), "w") as file:
        for _ in range(4096):
            latitude, longitude = random.uniform(7, 63), random.uniform(0, 358)
            file.write(f"1990  5 17  6  8 ALBERTO {latitude:6.1f}{longitude:7.1f}   22   12\n"[:48]
                       .ljust(48) + "\n")
    with open(os.path.join(folder, "files"), "w") as file:
        file.write("hurricanes.db\n")


def tree(folder):
    keys = random.sample(range(100000), 10000)
    with open(os.path.join(folder, "keys.txt"), "w") as file:
        file.write(f"{len(keys)}\n" + "".join(f"{key}\n" for key in keys))
    with open(os.path.join(folder, "command.txt"), "w") as file:
        file.write("j 600 300\nk 1000\n")


def flow(path, cells=2048):
    """Cells with four neighbours (-1: a wing, -2: far away), area and normals."""
    with open(path, "w") as file:
        file.write(f"{cells}\n")
        for cell in range(cells):
            row = [f"{random.uniform(0.5, 1.5):.5f}"]
            for side in (-1, 1, -64, 64):
                other = cell + side
                row.append(str(other + 1 if 0 <= other < cells else -2))
                row += [f"{random.uniform(-1, 1):.5f}" for _ in range(3)]
            file.write(" ".join(row) + "\n")


def picture(path, rows, columns):
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (columns, rows))
        file.write(bytes(random.randrange(256) for _ in range(rows * columns)))


def colours(path, pixels):
    with open(path, "wb") as file:
        file.write(bytes(i * 7 & 255 for i in range(3 * pixels)))


def skewed(path, count):
    with open(path, "wb") as file:
        file.write(bytes(min(255, int(random.expovariate(0.05))) for _ in range(count)))


def file_of(name, make, *arguments):
    def make_file(folder):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        make(path, *arguments)
    return make_file


def both(*makers):
    def make(folder):
        for maker in makers:
            maker(folder)
    return make


# folder, sources, flags, arguments, inputs, a word that its own check prints
PROGRAMS = {
    "backprop": ("backprop", "backprop_cuda.cu backprop.c facetrain.c imagenet.c", "", "65536",
                 None, ()),
    "bfs": ("bfs", "bfs.cu", "-I../util", "graph.txt", file_of("graph.txt", graph), ()),
    "b+tree": ("b+tree", "main.c kernel/kernel_gpu_cuda_wrapper.cu "
               "kernel/kernel_gpu_cuda_wrapper_2.cu util/timer/timer.c util/num/num.c "
               "util/cuda/cuda.cu", "", "file keys.txt command command.txt", tree, ()),
    "cfd": ("cfd", "euler3d.cu", "-DNO_FIELDS", "flow.txt", file_of("flow.txt", flow), ()),
    "cfd double": ("cfd", "euler3d_double.cu", "-DNO_FIELDS", "flow.txt",
                   file_of("flow.txt", flow), ()),
    "dwt2d": ("dwt2d", "main.cu dwt.cu components.cu dwt_cuda/fdwt53.cu dwt_cuda/fdwt97.cu "
              "dwt_cuda/common.cu dwt_cuda/rdwt97.cu dwt_cuda/rdwt53.cu", "-I.",
              "picture.bmp -d 192x192 -f -5 -l 3",
              file_of("../../data/dwt2d/picture.bmp", colours, 192 * 192), ()),
    "gaussian": ("gaussian", "gaussian.cu", "", "-s 64", None, ()),
    "hotspot": ("hotspot", "hotspot.cu", "", "64 2 4 temp power out",
                both(file_of("temp", numbers, 4096, 320, 340),
                     file_of("power", numbers, 4096, 0, 0.001)), ()),
    "hotspot3D": ("hotspot3D", "3D.cu", "", "64 8 10 power temp out",
                  both(file_of("temp", numbers, 64 * 64 * 8, 320, 340),
                       file_of("power", numbers, 64 * 64 * 8, 0, 0.001)), ("accuracy",)),
    "huffman": ("huffman", "main_test_cu.cu cpuencode.cpp scan.cu stats_logger.cpp "
                "vlc_kernel_sm64huff.cu pack_kernels.cu", "-DTESTING", "numbers.in",
                file_of("numbers.in", skewed, 262144), ()),
    "lavaMD": ("lavaMD", "main.c kernel/kernel_gpu_cuda_wrapper.cu util/num/num.c "
               "util/timer/timer.c util/device/device.cu", "", "-boxes1d 3", None, ()),
    "lud": ("lud/cuda", "lud.cu lud_kernel.cu ../common/common.c", "-I../common", "-s 128 -v",
            None, ()),
    "myocyte": ("myocyte", "main.cu", "", "10 1 0", None, ()),
    "nn": ("nn", "nn_cuda.cu", "", "files -r 5 -lat 30 -lng 90", hurricanes, ()),
    "nw": ("nw", "needle.cu", "", "256 10", None, ()),
    "particlefilter float": ("particlefilter", "ex_particle_CUDA_float_seq.cu", "-use_fast_math",
                             "-x 64 -y 64 -z 5 -np 500", None, ()),
    "particlefilter naive": ("particlefilter", "ex_particle_CUDA_naive_seq.cu", "-use_fast_math",
                             "-x 64 -y 64 -z 5 -np 500", None, ()),
    "pathfinder": ("pathfinder", "pathfinder.cu", "", "10000 50 10", None, ()),
    "srad_v1": ("srad/srad_v1", "main.cu", "-I.", "4 0.5 128 128",
                file_of("../../../data/srad/image.pgm", picture, 502, 458), ()),
    "srad_v2": ("srad/srad_v2", "srad.cu", "", "256 256 0 31 0 31 0.5 2", None, ()),
    "streamcluster": ("streamcluster", "streamcluster_cuda_cpu.cpp streamcluster_cuda.cu "
                      "streamcluster_header.cu", "", "10 20 64 1024 1024 100 none out.txt 1", None,
                      ()),
    "heartwall": ("heartwall", "main.cu AVI/avilib.c AVI/avimod.c", "-IAVI", "", None, ()),
    "kmeans": ("kmeans", "cluster.c getopt.c kmeans.c kmeans_clustering.c kmeans_cuda.cu rmse.c",
               "", "-o -i points.txt", file_of("points.txt", points), ()),
    "hybridsort": ("hybridsort", "main.cu bucketsort.cu mergesort.cu", "", "r", None, ()),
}
# Programs that cannot run here on any GPU, and why.
WITHOUT = {
    "heartwall": "its input, a film, is not in the repository",
}


def rodinia_programs(checkout, work, nvcc, pick, say, copy_tree):
    source = os.path.join(work, "source")
    copy_tree(checkout, source)
    shim = os.path.join(work, "removed_names.h")
    with open(shim, "w") as file:
        file.write(SHIM)
    random.seed(1)
    for name, (folder, sources, flags, arguments, inputs, words) in PROGRAMS.items():
        if not pick(name):
            continue
        folder = os.path.join(source, "cuda", folder)
        binary = os.path.join(folder, "compat_" + name.replace(" ", "_"))
        if name in WITHOUT:
            yield Program(name, None, folder, reason=WITHOUT[name])
            continue
        say(f"building {name}")
        done = subprocess.run([nvcc, "-w", "-O2", "-arch=sm_75", "-include", shim,
                               "-DRD_WG_SIZE=16", *flags.split(), *sources.split(), "-o", binary,
                               "-lcuda", "-lm"],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            yield Program(name, None, folder, reason=(lines or ["does not compile"])[0][-160:])
            continue
        if inputs:
            inputs(folder)
        yield Program(name, [binary] + arguments.split(), folder, passed_words=words)

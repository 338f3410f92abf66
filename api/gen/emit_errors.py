# SPDX-License-Identifier: Apache-2.0
"""results.c: the name and value of every CUresult of cuda.h (the texts are front/'s)."""
from text import HEADER


def source(results):
    rows = "".join(f'    {{{value}, "{name}"}},\n' for name, value in results)
    return (HEADER + '#include "front/core/results.h"\n\n'
            f"const struct front_result front_results[] = {{\n{rows}}};\n"
            "const size_t front_result_count = sizeof front_results / sizeof front_results[0];\n")

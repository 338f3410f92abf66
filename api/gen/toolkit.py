# SPDX-License-Identifier: Apache-2.0
"""What the toolkit's headers say: exported versions, declared names, error codes."""
import os
import re

TYPEDEFS = ("cudaTypedefs.h", "cudaProfilerTypedefs.h")


def _read(root, name):
    with open(os.path.join(root, "include", name), encoding="latin-1") as file:
        return file.read()


def declared_names(root):
    return set(re.findall(r"\b(cu[A-Z]\w*)\s*\(", _read(root, "cuda.h")))


def versions(root, symbols):
    """symbol -> (base name, version, per-thread 0/1).

    The typedefs PFN_<base>_v<version>[_ptds|_ptsz], sorted by version, stand one to one for the
    exported <base>, <base>_v2, <base>_v3 ... with the same suffix.
    """
    found = {}
    for name in TYPEDEFS:
        for base, version, suffix in re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)",
                                                _read(root, name)):
            found.setdefault((base, suffix), set()).add(int(version))
    out = {}
    for (base, suffix), numbers in found.items():
        variants = [base + suffix] + [f"{base}_v{k}{suffix}" for k in range(2, 10)]
        variants = [v for v in variants if v in symbols]
        if len(variants) != len(numbers):
            raise SystemExit(f"{base}{suffix}: versions {sorted(numbers)} and exported symbols "
                             f"{variants} do not stand one to one")
        for symbol, version in zip(variants, sorted(numbers)):
            out[symbol] = (base, version, 1 if suffix else 0)
    missing = sorted(set(symbols) - set(out))
    if missing:
        raise SystemExit(f"no version known for: {' '.join(missing)}")
    return out


def results(root):
    """[(CUDA_ERROR_x, value)] of enum CUresult, in order."""
    text = _read(root, "cuda.h")
    body = re.search(r"typedef enum cudaError_enum \{(.*?)\} CUresult;", text, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return [(name, int(value, 0)) for name, value in re.findall(r"(CUDA_\w+)\s*=\s*(\w+)", body)]

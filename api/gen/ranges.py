# SPDX-License-Identifier: Apache-2.0
"""C expressions about the device ranges that a call touches (api/range.h)."""


def _product(factors):
    text = None
    for factor in factors:
        term = factor if factor.isdigit() else f"(uint64_t)args.{factor}"
        text = term if text is None else f"api_range_times({text}, {term})"
    return text


def size(r):
    if r.factors:
        return _product(r.factors)
    return f"api_range_pitched({', '.join(_product(f) for f in r.pitched)})"


def rows_apart(r):
    """What must be true of a pitched range by itself, or None."""
    if r.factors:
        return None
    return (f"api_range_rows_apart({', '.join(_product(f) for f in r.pitched)},\n"
            f"                              {element(r)})")


def element(r):
    """Bytes of an element, which is how the address must be aligned."""
    factors = r.factors or r.pitched[1]
    return factors[-1] if factors[-1].isdigit() else "1"

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


def element(r):
    """Bytes of an element, which is how the address must be aligned."""
    factors = r.factors or r.pitched[1]
    return factors[-1] if factors[-1].isdigit() else "1"

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From api/cuda/*.api and the toolkit's headers to C. Run by CMake.

    generate.py --api DIR --toolkit DIR --cuda-version N --out DIR     writes everything
        --released FILE                                also the tables of an earlier release
    generate.py --api DIR --check-symbols FILE                         every symbol once?
    generate.py --api DIR --signatures                                 the calls as in released/
    generate.py --api DIR --check-released FILE                        are they as they were?
"""
import argparse
import glob
import os
import sys

import emit_calls
import emit_capture
import emit_client
import emit_codec_test
import emit_driver
import emit_errors
import emit_exports
import emit_fields_test
import emit_server
import model as model_of
import released as released_of
import toolkit
from parse import ApiError, parse_file
from text import write


def load(folder, cuda_version):
    stanzas = []
    for path in sorted(glob.glob(os.path.join(folder, "*.api"))):
        with open(path, encoding="utf-8") as file:
            stanzas += parse_file(path, file.read(), os.path.relpath(path))
    return model_of.build(stanzas, cuda_version)


def described(model):
    return ([n for c in model.calls for n in c.exported()] + list(model.unsupported)
            + list(model.absent))


def outputs(model, root):
    """file name -> text, for the whole API."""
    symbols = set(described(model))
    out = small_outputs(model)
    out["proc_table.c"] = emit_exports.proc_table(model, toolkit.versions(root, symbols))
    out["prototype_check.c"] = emit_exports.prototype_check(model, toolkit.declared_names(root))
    out["results.c"] = emit_errors.source(toolkit.results(root))
    return out


def small_outputs(model):
    """What follows from the description alone."""
    every = sorted(described(model))
    out = {
        "constants.h": emit_calls.constants(model),
        "calls.h": emit_calls.header(model), "calls.c": emit_calls.source(model),
        "call_table.c": emit_calls.table(model),
        "cuda_driver.h": emit_driver.header(model), "cuda_driver.c": emit_driver.source(model),
        "client_stubs.c": emit_client.source(model),
        "client_calls.h": emit_client.header(model),
        "server_dispatch.h": emit_server.header(model),
        "server_dispatch.c": emit_server.source(model),
        "exports.map": emit_exports.export_map(model),
        "test_codec.c": emit_codec_test.source(model),
        "call_fields.c": emit_fields_test.source(model),
    }
    for library in ("client", "soft"):
        missing = emit_exports.missing_symbols(model, library)
        out[f"unsupported_{library}.c"] = emit_exports.unsupported(missing)
        out[f"variants_{library}.c"] = emit_exports.variants(model, library)
        out[f"capture_{library}.c"] = emit_capture.guards(model, library)
    out["capture_front.c"] = emit_capture.guards(model, "front")
    out["capture_calls.h"] = emit_capture.inner_names(model)
    out["capture_hooks.h"] = emit_capture.hooks(model)
    out["variants_front.c"] = emit_exports.variants(model, "front")
    front = {n for c in model.calls if c.client == "front" for n in c.exported()}
    inner = [f"gpuaas_run_{c.name}" for c in model.calls if c.capture and c.client != "front"]
    out["unsupported_test.c"] = emit_exports.unsupported([n for n in every if n not in front]
                                                         + inner)
    return out


def released_outputs(model, path):
    """The tables that an earlier release had; the rest of it was as today."""
    then = released_of.only(model, released_of.read(path))
    return {"released_call_table.c": emit_calls.table(then),
            "released_server_dispatch.c": emit_server.source(then)}


def check_released(model, path):
    found = list(released_of.differences(model, released_of.read(path)))
    print("\n".join(found or ["released calls are as they were"]))
    return 1 if found else 0


def check_symbols(model, path):
    with open(path, encoding="utf-8") as file:
        exported = set(file.read().split())
    missing = sorted(exported - set(described(model)))
    extra = sorted(set(described(model)) - exported)
    for name in missing:
        print(f"{name}: exported by libcuda, described nowhere in api/cuda/", file=sys.stderr)
    for name in extra:
        print(f"{name}: described in api/cuda/, not exported by this libcuda", file=sys.stderr)
    print(f"{len(exported)} exported symbols, {len(exported) - len(missing)} described")
    return 1 if missing or extra else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--api", required=True)
    parser.add_argument("--toolkit")
    parser.add_argument("--cuda-version", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("--check-symbols")
    parser.add_argument("--released")
    parser.add_argument("--signatures", action="store_true")
    parser.add_argument("--check-released")
    options = parser.parse_args()
    try:
        model = load(options.api, options.cuda_version)
    except ApiError as error:
        print(error, file=sys.stderr)
        return 1
    if options.check_symbols:
        return check_symbols(model, options.check_symbols)
    if options.check_released:
        return check_released(model, options.check_released)
    if options.signatures:
        print(released_of.listing(model), end="")
        return 0
    os.makedirs(options.out, exist_ok=True)
    texts = outputs(model, options.toolkit)
    if options.released:
        texts.update(released_outputs(model, options.released))
    for name, text in texts.items():
        write(os.path.join(options.out, name), text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

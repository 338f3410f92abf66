# SPDX-License-Identifier: Apache-2.0
"""./dev sim COMMAND: what is done with gpuaas-sim beyond a single run."""

import argparse
import sys

import check
import golden
import mixes
import paper
import pictures
import scale

COMMANDS = {"golden": golden, "check": check, "paper": paper, "mixes": mixes,
            "pictures": pictures, "scale": scale}


def main():
    parser = argparse.ArgumentParser(prog="./dev sim", description=__doc__)
    parser.add_argument("--sim", required=True, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        module.arguments(commands.add_parser(name, help=module.__doc__, description=module.__doc__))
    options = parser.parse_args()
    return COMMANDS[options.command].main(options)


sys.exit(main())

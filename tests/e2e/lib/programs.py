# SPDX-License-Identifier: Apache-2.0
"""The devices that programs of tests/kernels need, if they need more than one device of capability
7.5."""

# Programs that use a second device
TWO_DEVICES = {"copies_3d", "copies_between", "events_across", "frees_across", "lasting_errors",
               "libraries", "mixed_copies", "peer_access", "pinned_address", "pointers",
               "two_devices", "virtual_memory", "waiting_elsewhere", "wrong_peer"}
# Compute capabilities, from the least that will do: on software GPUs it runs on each
CAPABILITIES = {"capabilities": ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"),
                "clusters": ("9.0",), "large_tiles": ("8.0", "9.0")}
# Multiprocessors, of software GPUs, for a program that is about parts of them; else the default
PARTS = {"green_contexts": 8, "context_parts": 8}
# Less than the program does by itself, where a sanitizer makes each wait long.
ARGUMENTS = {"threads_waits": ["8000"], "graph_branches": ["200"]}


def capabilities(name):
    return CAPABILITIES.get(name, ("7.5",))


def lacks(name, devices, capability):
    """The features that `devices` devices of `capability` ("9.0") lack for it; empty: none."""
    if name in TWO_DEVICES and devices < 2:
        return f"it needs two devices, there is {devices}"
    wanted = capabilities(name)[0]
    if [int(part) for part in capability.split(".")] < [int(part) for part in wanted.split(".")]:
        return f"it needs a device of {wanted}, this one is of {capability}"
    return ""

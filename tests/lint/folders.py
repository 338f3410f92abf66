# SPDX-License-Identifier: Apache-2.0
"""The table of folders: who may include whom, and which outside library a folder may use. This is
the table of ARCHITECTURE.md; change both together."""

# folder -> folders whose door it may include (its own files are always allowed)
MAY_INCLUDE = {
    "base": set(),
    "api": {"base"},
    "conf": {"base", "api", "sched"},
    "store": {"base", "api"},
    "sched": {"base", "api"},
    "auth": {"base", "api", "store"},
    "transport": {"base", "api"},
    "front": {"base", "api"},
    "model": {"base", "api"},
    "softgpu": {"base", "api", "front", "model"},
    "client": {"base", "api", "front", "transport"},
    "server": {"base", "api", "auth", "conf", "sched", "store", "transport"},
    "jit": {"api"},
    "cmd": {"base", "api"},
    "ctl": {"base", "api", "auth", "conf", "sched", "store", "transport"},
    "sim": {"base", "api", "conf", "model", "sched"},
}

# Tables of which others make theirs, besides the doors: like a door, for whom the folder is open.
OPEN_TABLES = {"sched/settings.def"}

# The rooms of a folder: room -> rooms whose headers it may include, besides its own and those of
# the folder itself (its door, and what all rooms share). No circle, so each room can be read
# without those above it. Folders that are not here have no directions between their rooms.
ROOMS = {
    "client": {
        "alloc": set(),
        "process": set(),
        "conn": {"process"},
        "session": {"process", "alloc", "conn"},
        "address": {"session"},
        "context": {"process", "conn", "session"},
        "call": {"process", "conn", "session", "context"},
        "transfer": {"conn", "session", "address", "context", "call"},
        "memory": {"process", "alloc", "conn", "session", "address", "context", "call", "transfer"},
        "texture": {"session", "context", "call", "memory"},
        "copy": {"conn", "session", "context", "call", "transfer", "memory", "texture"},
        "stream": {"process", "session", "address", "context", "call", "transfer", "memory"},
        "module": {"process", "alloc", "session", "address", "context", "call", "memory"},
        "graph": {"session", "context", "call", "memory", "copy", "stream", "module"},
    },
    "server": {
        # gpuaasd; with the backend it shares the folder's own files alone
        "processes": set(),
        "storage": set(),
        "usage": {"processes", "storage"},
        "turns": {"processes", "usage"},
        "tenants": {"processes", "usage"},
        "access": {"storage", "tenants"},
        "sharing": set(),
        "seats": {"processes", "usage", "turns", "tenants", "sharing"},
        "placement": {"processes", "tenants", "seats"},
        "applications": {"processes", "usage", "turns", "tenants", "access", "seats"},
        "clients": {"tenants", "access", "seats", "placement", "applications"},
        "monitoring": {"processes", "usage", "turns", "tenants", "access", "seats", "applications",
                       "clients"},
        "gpuaasd": {"processes", "storage", "usage", "turns", "access", "applications", "clients",
                    "monitoring"},
        "admin": {"processes", "storage", "usage", "turns", "tenants", "access", "applications",
                  "clients", "monitoring", "gpuaasd"},
        "driver": set(),
        "charge": set(),
        "pipeline": {"driver", "charge"},
        "image": {"charge"},
        "app": {"driver", "charge", "image"},
        "meter": {"app"},
        "gate": {"app", "meter"},
        "objects": {"driver", "charge", "app", "meter", "gate"},
        "conn": {"charge", "pipeline", "app", "meter", "gate", "objects"},
        "calls": {"driver", "charge", "image", "app", "meter", "gate", "objects", "conn"},
        "rebuild": {"app", "meter", "objects", "conn", "calls"},
        "backend": {"driver", "gate", "objects", "conn", "calls", "rebuild"},
    },
    "front": {
        "core": set(),
        "memory": set(),
        "mempool": set(),
        "green": set(),
        "graph": set(),
        "capture": {"graph"},
        "launch": {"core", "capture"},
        "tables": {"core"},
        "texture": {"memory"},
    },
    "softgpu": {
        # the PTX engine
        "engine": set(),  # its interface
        "exec": {"engine"},
        "ptx": {"engine", "exec"},
        # the driver, from the state of the process up to the calls
        "node": set(),
        "process": {"engine", "node"},
        "memory": {"engine", "node", "process"},
        "stream": {"engine", "node", "process", "memory"},
        "copy": {"engine", "node", "process", "memory", "stream"},
        "module": {"engine", "node", "process", "memory", "stream"},
        "texture": {"engine", "process", "memory", "stream"},
        "graph": {"engine", "process", "memory", "stream", "copy", "module", "texture"},
        "lifetime": {"engine", "process", "memory", "stream", "module", "texture", "graph"},
        "calls": {"engine", "process", "memory", "stream", "copy", "module", "texture", "graph",
                  "lifetime"},
    },
    "transport": {
        "fault": set(),
        "rdma": set(),
        "shm": set(),
        "tls": set(),
    },
}

# Prefixes of the names of a folder's functions that are not static. Names of CUDA, NVML, nvrtc and
# nvJitLink are given.
PREFIXES = {
    "base": {"ga_"},
    "api": {"api_", "cuda_driver_", "handshake_", "limits_", "soft_"},
    "conf": {"conf_"},
    "store": {"store_"},
    "sched": {"sched_"},
    "auth": {"auth_"},
    "transport": {"transport_"},
    "front": {"front_"},
    "model": {"model_"},
    "softgpu": {"sg_"},
    "client": {"client_"},
    "server": {"server_"},
    "jit": {"jit_"},
    "cmd": {"cmd_"},
    "ctl": {"ctl_"},
    "sim": {"sim_"},
}

# In these folders a word of the name of a file of the same room stands in the prefix's place.
BARE_NOUNS = {"auth", "server", "store", "transport"}

# Nouns of a room besides: what only the room itself uses, or has no file of its name.
ROOM_PREFIXES = {
    "client/alloc": {"block_"},
    "client/conn": {"conn_"},
    "client/memory": {"memory_"},
    "client/session": {"opening_"},
    "front/capture": {"capture_"},
    "front/mempool": {"mempool_"},
    "server/applications": {"control_"},  # of the control process, unlike those of the backend
    "server/clients": {"control_"},  # of a control connection
    "server/app": {"context_", "stream_"},
    "server/objects": {"green_", "stream_"},
    "transport": {"compression_", "decompress"},
}

# In these folders a header declares what the files of its name define, and nothing else
# (rule_headers.py), but for tables that a room declares for those above it to fill. The PTX engine
# is not among them: engine.h is its interface, and handlers are declared by kind.
HEADERS_HOLD = ("client/", "jit/") + tuple(
    f"softgpu/{room}/" for room in ROOMS["softgpu"] if room not in ("engine", "exec", "ptx"))
DEFINED_ABOVE = {"front_host", "front_graph_host", "client_conn_hooks", "client_object_types"}

# These may include anything.
FREE = {"tests", "perf", "docs", "cmake", "scripts"}

# From outside a folder only <folder>/<folder>.h may be included, except that of these every header
# is meant for others.
ALL_DOOR = {"base", "api", "model"}

# How an #include <...> begins -> the library's name
LIBRARY_HEADERS = {
    "cuda.h": "cuda", "cudaTypedefs.h": "cuda", "nvml.h": "cuda",
    "nvrtc.h": "cuda", "nvJitLink.h": "cuda", "cuda_runtime": "cudart",
    "uv.h": "libuv", "ini.h": "inih", "lz4": "lz4", "zstd": "zstd", "xxhash.h": "xxhash",
    "uthash.h": "uthash", "utlist.h": "uthash", "utarray.h": "uthash", "openssl/": "openssl",
    "infiniband/": "verbs", "rdma/": "verbs", "microhttpd.h": "libmicrohttpd",
    "seccomp.h": "libseccomp", "sqlite3.h": "sqlite", "curl/": "libcurl", "jansson.h": "jansson",
    "ncurses": "ncurses", "criterion/": "criterion",
}

# folder -> libraries; xxhash and uthash are headers alone and free for all
MAY_USE = {
    "base": {"xxhash", "uthash"},
    "api": {"cuda", "lz4", "zstd", "xxhash", "uthash"},
    "conf": {"inih", "uthash"},
    "store": {"sqlite"},
    "model": set(),
    "sched": set(),
    "auth": {"jansson", "openssl"},
    "transport": {"lz4", "openssl", "verbs", "xxhash", "uthash"},
    "front": {"cuda", "xxhash", "uthash"},
    "softgpu": {"cuda", "xxhash", "uthash"},
    "client": {"cuda", "xxhash", "uthash"},
    "server": {"cuda", "jansson", "libmicrohttpd", "libseccomp", "libuv", "xxhash", "uthash"},
    "jit": {"cuda"},
    "cmd": {"cuda"},
    "ctl": {"jansson", "ncurses"},
    "sim": set(),
}


def library_of(header):
    for prefix, library in LIBRARY_HEADERS.items():
        if header.startswith(prefix):
            return library
    return None

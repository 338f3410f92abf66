"""The table of folders: who may include whom, and which outside library a folder may use. This is
the table of ARCHITECTURE.md; change both together."""

# folder -> folders whose door it may include (its own files are always allowed)
MAY_INCLUDE = {
    "base": set(),
    "api": {"base"},
    "conf": {"base", "api"},
    "transport": {"base", "api"},
    "front": {"base", "api"},
    "softgpu": {"base", "api", "front"},
    "client": {"base", "conf", "api", "front", "transport"},
    "sched": {"base"},
    "store": {"base", "conf"},
    "auth": {"base", "conf", "store"},
    "gmap": {"base", "conf", "sched", "store"},
    "server": {"base", "api", "conf", "transport", "front", "softgpu", "sched", "store", "auth",
               "gmap"},
    "ctl": {"base", "conf"},
    "jit": {"api"},
    "cmd": {"base", "api"},
}

# These may include anything.
FREE = {"tests", "perf", "docs", "cmake"}

# From outside a folder only <folder>/<folder>.h may be included, except that of these every header
# is meant for others.
ALL_DOOR = {"base", "api"}

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

# folder -> libraries; xxhash and uthash are headers alone and free for all but sched
MAY_USE = {
    "base": {"xxhash", "uthash"},
    "api": {"cuda", "xxhash", "uthash"},
    "conf": {"inih", "uthash"},
    "transport": {"lz4", "openssl", "verbs", "xxhash", "uthash"},
    "front": {"cuda", "xxhash", "uthash"},
    "softgpu": {"cuda", "lz4", "zstd", "xxhash", "uthash"},
    "client": {"cuda", "xxhash", "uthash"},
    "sched": set(),
    "store": {"sqlite", "libcurl", "jansson", "uthash"},
    "auth": {"openssl", "uthash"},
    "gmap": {"uthash"},
    "server": {"cuda", "libuv", "libmicrohttpd", "libseccomp", "xxhash", "uthash"},
    "ctl": {"jansson", "ncurses", "uthash"},
    "jit": {"cuda"},
    "cmd": {"cuda"},
}


def library_of(header):
    for prefix, library in LIBRARY_HEADERS.items():
        if header.startswith(prefix):
            return library
    return None

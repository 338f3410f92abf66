/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a program that is to find one of our CUDA drivers. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/visible_devices.h"
#include "cmd/gpuaas/cmd.h"

static int environment_set(const char *variable, const char *value)
{
    return value == NULL || setenv(variable, value, 1) == 0
               ? 0
               : cmd_wrong(CMD_FAILED, "no memory for the environment");
}

/* Finds our library in ../lib beside this command: in a build as in an installation. */
static int environment_library_find(const char *folder, char *library, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return cmd_wrong(CMD_FAILED,
                         "/proc/self/exe does not say where gpuaas lies; is /proc mounted?");
    }
    self[length] = 0;
    for (int up = 0; up < 2; up++) { /* the file's name, then bin */
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            *slash = 0;
        }
    }
    int written = snprintf(library, size, "%s/lib/%s/libcuda.so.1", self, folder);
    if (written < 0 || (size_t)written >= size || access(library, R_OK) != 0) {
        return cmd_wrong(CMD_FAILED,
                         "cannot read %s; gpuaas belongs in bin beside lib, as "
                         "`cmake --install` lays them out",
                         library);
    }
    return 0;
}

/* Checks the options that --local excludes or needs. */
static int local_check(const struct cmd_options *options)
{
    if (options->gpus != NULL && !options->local) {
        return cmd_wrong(CMD_FAILED,
                         "--gpus describes software GPUs of this machine; give --local, "
                         "too");
    }
    if (options->local && options->servers != NULL) {
        return cmd_wrong(CMD_FAILED, "--local uses no server; leave out --servers or --local");
    }
    if (options->local && options->devices != NULL) {
        return cmd_wrong(CMD_FAILED, "--devices chooses among devices of servers; with --local, "
                                     "--gpus says which there are");
    }
    return 0;
}

static int servers_check(bool local_is_possible)
{
    const char *servers = getenv("GPUAAS_SERVERS");
    if (servers != NULL && servers[strspn(servers, ", \t")] != 0) {
        return 0;
    }
    return cmd_wrong(
        CMD_FAILED, "no server is named; give --servers HOST[:PORT],... or set GPUAAS_SERVERS%s",
        local_is_possible ? ", or use software GPUs of this machine with --local" : "");
}

int cmd_environment_driver(const struct cmd_options *options, char *library, size_t size)
{
    int status = local_check(options);
    if (status == 0) {
        status = environment_set("GPUAAS_SERVERS", options->servers);
    }
    if (status == 0) {
        status = environment_set("GPUAAS_DEVICES", options->devices);
    }
    if (status == 0) {
        status = environment_set("SOFTGPU_DEVICES", options->gpus);
    }
    if (status == 0 && !options->local) {
        status = servers_check(options->sub->run != cmd_status);
    }
    return status != 0
               ? status
               : environment_library_find(options->local ? "softgpu" : "gpuaas", library, size);
}

/* Adds an entry to a list separated by colons, in front or at its end. */
static bool list_add(const char *variable, const char *text, bool in_front)
{
    const char *before = getenv(variable);
    char *all;
    if (before == NULL || *before == 0) {
        return setenv(variable, text, 1) == 0;
    }
    if (asprintf(&all, "%s:%s", in_front ? text : before, in_front ? before : text) < 0) {
        return false;
    }
    bool done = setenv(variable, all, 1) == 0;
    free(all);
    return done;
}

/* Preloads one of our libraries, if it has been built. */
static bool preload(const char *libraries, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/gpuaas/jit/%s.so.%d", libraries, name, JIT_CUDA_MAJOR) < 0) {
        return false;
    }
    bool done = access(path, R_OK) != 0 || list_add("LD_PRELOAD", path, false);
    free(path);
    return done;
}

/* Makes libraries that compile at run time keep PTX. CuPy also has kernels as machine code only,
 * which this variable turns off, and caches what it has compiled. */
static bool compile_to_ptx(const char *libraries)
{
    char *cache = NULL;
    bool done = preload(libraries, "libnvrtc") && preload(libraries, "libnvJitLink") &&
                setenv("CUPY_ACCELERATORS", "", 0) == 0;
    const char *home = getenv("HOME");
    if (done && home != NULL && asprintf(&cache, "%s/.cupy/kernel_cache_ptx", home) >= 0) {
        done = setenv("CUPY_CACHE_DIR", cache, 0) == 0;
    }
    free(cache);
    return done;
}

bool cmd_environment_program(const char *library, bool ptx)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", library);
    *strrchr(folder, '/') = 0;
    bool done = list_add("LD_LIBRARY_PATH", folder, true);
    *strrchr(folder, '/') = 0;
    return done && (!ptx || compile_to_ptx(folder));
}

const char *cmd_environment_chooses_none(bool local)
{
    static const char *const variables[] = {"GPUAAS_DEVICES", API_VISIBLE_DEVICES};
    for (size_t i = local ? 1 : 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *text = getenv(variables[i]);
        if (text != NULL && *text == 0) {
            return variables[i];
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds NVIDIA's library. It searches GPUAAS_JIT_PATH, then as NVIDIA's cuda-pathfinder does: the
 * packages of the running Python, its conda environment, LD_LIBRARY_PATH, CUDA_PATH and CUDA_HOME,
 * and the folders of the toolkit and of distributions. A package was made for the others in its
 * environment (its nvJitLink reads what its compilers write), a toolkit may be older.
 *
 * Note: dlopen of the plain name would give this library itself, and so may a path (a copied
 * folder): our own file is skipped. */
#include "jit/real.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NVIDIA's library calls its own functions, not ours of the same name. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_FUNCTIONS 0 /* sanitizers do not allow it */
#else
#define OWN_FUNCTIONS RTLD_DEEPBIND
#endif

static bool is_ours(const char *path)
{
    Dl_info self;
    char ours[PATH_MAX], other[PATH_MAX];
    return dladdr((const void *)jit_real_open, &self) != 0 &&
           realpath(self.dli_fname, ours) != NULL && realpath(path, other) != NULL &&
           strcmp(ours, other) == 0;
}

/* `pattern` may have wildcards. */
static void *open_matching(const char *pattern)
{
    void *library = NULL;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        return NULL;
    }
    for (size_t i = 0; library == NULL && i < found.gl_pathc; i++) {
        if (!is_ours(found.gl_pathv[i])) {
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL | OWN_FUNCTIONS);
        }
    }
    globfree(&found);
    return library;
}

static void *open_in(const char *folder, size_t length, const char *tail, const char *stem)
{
    char path[PATH_MAX];
    int written = snprintf(path, sizeof path, "%.*s%s/lib%s.so.%d", (int)length, folder, tail, stem,
                           JIT_CUDA_MAJOR);
    return length != 0 && written > 0 && (size_t)written < sizeof path ? open_matching(path) : NULL;
}

/* Searches each folder of a list with colons between. */
static void *open_in_list(const char *variable, const char *stem)
{
    const char *at = getenv(variable);
    void *library = NULL;
    while (library == NULL && at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        library = open_in(at, length, "", stem);
        at += length + (at[length] == ':');
    }
    return library;
}

/* The folder of the program as it was called, without following a link to it: that of a virtual
 * environment. */
static bool called_from(char *folder, size_t size)
{
    char name[PATH_MAX] = "";
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file != NULL) {
        (void)!fread(name, 1, sizeof name - 1, file);
        (void)fclose(file);
    }
    const char *slash = strrchr(name, '/');
    if (slash != NULL) {
        return snprintf(folder, size, "%.*s", (int)(slash - name), name) < (int)size;
    }
    const char *at = getenv("PATH");
    while (name[0] != '\0' && at != NULL && *at != '\0') {
        char path[2 * PATH_MAX];
        size_t length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0) {
            return snprintf(folder, size, "%.*s", (int)length, at) < (int)size;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

static void *open_of_python(const char *stem)
{
    static const char *const tails[] = {"/../lib/python3*/site-packages/nvidia/cu*/lib",
                                        "/../lib/python3*/site-packages/nvidia/*/lib"};
    char folder[PATH_MAX], conda[PATH_MAX + 32];
    void *library = NULL;
    if (!called_from(folder, sizeof folder)) {
        return NULL;
    }
    for (size_t i = 0; library == NULL && i < sizeof tails / sizeof tails[0]; i++) {
        library = open_in(folder, strlen(folder), tails[i], stem);
    }
    snprintf(conda, sizeof conda, "%s/../conda-meta", folder);
    if (library == NULL && access(conda, F_OK) == 0) {
        library = open_in(folder, strlen(folder), "/../lib", stem);
    }
    return library;
}

static void *open_of_toolkit(const char *stem)
{
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
    static const char *const folders[] = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib64", "/usr/local/cuda-*/lib64", "/usr/lib"};
    char folder[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof variables / sizeof variables[0]; i++) {
        const char *root = getenv(variables[i]);
        library = root != NULL ? open_in(root, strlen(root), "/lib64", stem) : NULL;
    }
    if (library == NULL && called_from(folder, sizeof folder)) {
        library = open_in(folder, strlen(folder), "/../lib", stem);
    }
    for (size_t i = 0; library == NULL && i < sizeof folders / sizeof folders[0]; i++) {
        library = open_in(folders[i], strlen(folders[i]), "", stem);
    }
    return library;
}

static void *open_anywhere(const char *stem)
{
    void *library = open_in_list("GPUAAS_JIT_PATH", stem);
    library = library != NULL ? library : open_of_python(stem);
    library = library != NULL ? library : open_in_list("LD_LIBRARY_PATH", stem);
    return library != NULL ? library : open_of_toolkit(stem);
}

void *jit_real_open(const char *stem)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool tried;
    static void *library;
    pthread_mutex_lock(&lock);
    if (!tried) {
        tried = true;
        library = open_anywhere(stem);
        if (library == NULL) {
            fprintf(stderr,
                    "gpuaas: NVIDIA's lib%s.so.%d is not found; name its folder in "
                    "GPUAAS_JIT_PATH\n",
                    stem, JIT_CUDA_MAJOR);
        }
    }
    pthread_mutex_unlock(&lock);
    return library;
}

void *jit_real_find(const char *stem, const char *name)
{
    void *library = jit_real_open(stem);
    return library != NULL ? dlsym(library, name) : NULL;
}

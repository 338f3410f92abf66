/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/silent_servers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"

#define NAME_BYTES (2 * sizeof(uint64_t) + 1)
#define HERE_MAX   16u /* the oldest one is forgotten */

struct silent_here {
    uint64_t hash, since_ns; /* 0: the place is free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct silent_here here[HERE_MAX];

/* FNV-1a */
static uint64_t address_hash(const char *address)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *address != 0; address++) {
        hash = (hash ^ (uint8_t)*address) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void file_name(const char *address, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx", (unsigned long long)address_hash(address));
}

/* ---- the folder */

static bool folder_path(char *path, size_t size)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    int length = runtime != NULL && runtime[0] == '/'
                     ? snprintf(path, size, "%s/gpuaas", runtime)
                     : snprintf(path, size, "/tmp/gpuaas-%u", (unsigned)geteuid());
    return length > 0 && (size_t)length < size;
}

/* -1: there is none that is safe. */
static int folder_open(bool make)
{
    char path[300];
    struct statx folder;
    if (!folder_path(path, sizeof path)) {
        return -1;
    }
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    int fd = ga_descriptor_above_stdio(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0) {
        return -1;
    }
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_UID, &folder) != 0 ||
        folder.stx_uid != geteuid() || (folder.stx_mode & (S_IWGRP | S_IWOTH)) != 0) {
        ga_debug("%s is not a folder that only this user can change, and is not used", path);
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- files */

static void file_add(const char *address)
{
    char name[NAME_BYTES];
    int folder = folder_open(true);
    file_name(address, name);
    int fd =
        folder < 0
            ? -1
            : ga_descriptor_above_stdio(openat(
                  folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (fd >= 0) {
        (void)futimens(fd, NULL); /* now */
        close(fd);
    }
    if (folder >= 0) {
        close(folder);
    }
}

static void file_remove(const char *address)
{
    char name[NAME_BYTES];
    int folder = folder_open(false);
    file_name(address, name);
    if (folder >= 0) {
        (void)unlinkat(folder, name, 0);
        close(folder);
    }
}

static bool file_is_fresh(const char *address)
{
    char name[NAME_BYTES];
    struct statx file;
    int folder = folder_open(false);
    file_name(address, name);
    bool there =
        folder >= 0 && statx(folder, name, AT_SYMLINK_NOFOLLOW,
                             STATX_TYPE | STATX_MODE | STATX_UID | STATX_MTIME, &file) == 0;
    if (folder >= 0) {
        close(folder);
    }
    if (!there || !S_ISREG(file.stx_mode) || file.stx_uid != geteuid()) {
        return false;
    }
    int64_t age_s = (int64_t)time(NULL) - file.stx_mtime.tv_sec;
    return age_s >= 0 && age_s < SILENT_SERVER_S;
}

/* ---- this process */

static void here_put(const char *address, uint64_t now_ns)
{
    uint64_t hash = address_hash(address);
    pthread_mutex_lock(&lock);
    struct silent_here *place = &here[0];
    for (unsigned i = 0; i < HERE_MAX; i++) {
        if (here[i].hash == hash) {
            place = &here[i];
            break;
        }
        place = here[i].since_ns < place->since_ns ? &here[i] : place;
    }
    *place = (struct silent_here){.hash = hash, .since_ns = now_ns};
    pthread_mutex_unlock(&lock);
}

/* When it was found to be silent; 0: never. */
static uint64_t here_since_ns(const char *address)
{
    uint64_t hash = address_hash(address), since_ns = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < HERE_MAX; i++) {
        since_ns = here[i].hash == hash ? here[i].since_ns : since_ns;
    }
    pthread_mutex_unlock(&lock);
    return since_ns;
}

/* ---- both */

void client_silent_servers_add(const char *address)
{
    here_put(address, ga_clock_ns());
    file_add(address);
}

void client_silent_servers_forget(const char *address)
{
    here_put(address, 0);
    file_remove(address);
}

bool client_silent_servers_here(const char *address)
{
    uint64_t since_ns = here_since_ns(address);
    return since_ns != 0 && ga_clock_ns() - since_ns < SILENT_SERVER_S * GA_NS_PER_S;
}

bool client_silent_servers_anywhere(const char *address)
{
    return client_silent_servers_here(address) || file_is_fresh(address);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the C library by the OpenSSL inside the client library.
 *
 * OpenSSL was compiled for the newest C library; the client library must do with any
 * (base/glibc_floor.h). The linker (--wrap, in client/openssl.cmake) redirects calls of functions
 * that newer C libraries have given a newer version to this file, where the same names are bound to
 * the version that every C library has. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

#ifdef BASE_GLIBC_FLOOR_H

/* In <sys/stat.h> no more, and in every C library for programs that are older. */
#define STAT_VERSION 1 /* struct stat of x86_64 */
int __xstat(int version, const char *path, struct stat *out);
int __fxstat(int version, int fd, struct stat *out);

int __wrap_stat(const char *path, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);

int __wrap_stat(const char *path, struct stat *out)
{
    return __xstat(STAT_VERSION, path, out);
}

int __wrap_fstat(int fd, struct stat *out)
{
    return __fxstat(STAT_VERSION, fd, out);
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return name arguments;                                                                     \
    }

WRAP(int, dladdr, (const void *at, Dl_info *out), (at, out))
WRAP(int, dlclose, (void *library), (library))
WRAP(char *, dlerror, (void), ())
WRAP(void *, dlopen, (const char *path, int flags), (path, flags))
WRAP(void *, dlsym, (void *library, const char *name), (library, name))
WRAP(void *, pthread_getspecific, (pthread_key_t key), (key))
WRAP(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
WRAP(int, pthread_key_create, (pthread_key_t * key, void (*end)(void *)), (key, end))
WRAP(int, pthread_key_delete, (pthread_key_t key), (key))
WRAP(int, pthread_once, (pthread_once_t * once, void (*call)(void)), (once, call))
WRAP(int, pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t *attributes),
     (lock, attributes))
WRAP(int, pthread_rwlock_destroy, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))

#endif

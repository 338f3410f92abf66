/* SPDX-License-Identifier: Apache-2.0 */
/* No call of CUDA is a cancellation point: a thread of the program that is cancelled meanwhile goes
 * on to one of the program's own, and leaves no lock of ours behind.
 *
 * The linker (--wrap, in client/CMakeLists.txt, which finds the names here) redirects these calls
 * of the C library, made by this library or by the OpenSSL inside it, to the wrappers below. During
 * such a call the thread cannot be cancelled. The lint of the library compares the list with
 * pthreads(7). */
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"

#define UNCANCELLED(name, type, parameters, arguments)                                             \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        int before = ga_cancel_off();                                                              \
        type result = __real_##name arguments;                                                     \
        ga_cancel_back(before);                                                                    \
        return result;                                                                             \
    }

UNCANCELLED(accept, int, (int fd, struct sockaddr *from, socklen_t *size), (fd, from, size))
UNCANCELLED(accept4, int, (int fd, struct sockaddr *from, socklen_t *size, int flags),
            (fd, from, size, flags))
UNCANCELLED(close, int, (int fd), (fd))
UNCANCELLED(closedir, int, (DIR * folder), (folder))
UNCANCELLED(connect, int, (int fd, const struct sockaddr *to, socklen_t size), (fd, to, size))
UNCANCELLED(fclose, int, (FILE * file), (file))
UNCANCELLED(fflush, int, (FILE * file), (file))
UNCANCELLED(fgets, char *, (char *to, int size, FILE *file), (to, size, file))
UNCANCELLED(fopen, FILE *, (const char *path, const char *mode), (path, mode))
UNCANCELLED(fopen64, FILE *, (const char *path, const char *mode), (path, mode))
UNCANCELLED(fputc, int, (int character, FILE *file), (character, file))
UNCANCELLED(fputs, int, (const char *text, FILE *file), (text, file))
UNCANCELLED(fread, size_t, (void *to, size_t size, size_t count, FILE *file),
            (to, size, count, file))
UNCANCELLED(fseek, int, (FILE * file, long at, int from), (file, at, from))
UNCANCELLED(ftell, long, (FILE * file), (file))
UNCANCELLED(fwrite, size_t, (const void *from, size_t size, size_t count, FILE *file),
            (from, size, count, file))
UNCANCELLED(getaddrinfo, int,
            (const char *host, const char *port, const struct addrinfo *hints,
             struct addrinfo **found),
            (host, port, hints, found))
UNCANCELLED(getnameinfo, int,
            (const struct sockaddr *of, socklen_t of_size, char *host, socklen_t host_size,
             char *port, socklen_t port_size, int flags),
            (of, of_size, host, host_size, port, port_size, flags))
UNCANCELLED(getrandom, ssize_t, (void *to, size_t size, unsigned flags), (to, size, flags))
UNCANCELLED(nanosleep, int, (const struct timespec *time, struct timespec *left), (time, left))
UNCANCELLED(opendir, DIR *, (const char *path), (path))
UNCANCELLED(poll, int, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
UNCANCELLED(ppoll, int,
            (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
             const sigset_t *mask),
            (fds, count, timeout, mask))
UNCANCELLED(pread, ssize_t, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
UNCANCELLED(pthread_cond_timedwait, int,
            (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *until),
            (cond, mutex, until))
UNCANCELLED(pthread_cond_wait, int, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex))
UNCANCELLED(read, ssize_t, (int fd, void *to, size_t size), (fd, to, size))
UNCANCELLED(readdir, struct dirent *, (DIR * folder), (folder))
UNCANCELLED(recv, ssize_t, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
UNCANCELLED(recvmsg, ssize_t, (int fd, struct msghdr *message, int flags), (fd, message, flags))
UNCANCELLED(select, int,
            (int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout),
            (count, in, out, other, timeout))
UNCANCELLED(send, ssize_t, (int fd, const void *from, size_t size, int flags),
            (fd, from, size, flags))
UNCANCELLED(sendmsg, ssize_t, (int fd, const struct msghdr *message, int flags),
            (fd, message, flags))
UNCANCELLED(sleep, unsigned, (unsigned seconds), (seconds))
UNCANCELLED(usleep, int, (useconds_t us), (us))
UNCANCELLED(vfprintf, int, (FILE * file, const char *format, va_list list), (file, format, list))
UNCANCELLED(write, ssize_t, (int fd, const void *from, size_t size), (fd, from, size))

/* ---- whose arguments vary */

#define UNCANCELLED_BY(name, type, parameters) type __wrap_##name parameters;

UNCANCELLED_BY(fcntl, int, (int fd, int command, ...))
UNCANCELLED_BY(fprintf, int, (FILE * file, const char *format, ...))
UNCANCELLED_BY(open, int, (const char *path, int flags, ...))
UNCANCELLED_BY(openat, int, (int folder, const char *path, int flags, ...))
int __real_fcntl(int fd, int command, ...);
int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);

int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *); /* or a number, or none: as the C library takes it */
    va_end(list);
    int before = ga_cancel_off(), result = __real_fcntl(fd, command, argument);
    ga_cancel_back(before);
    return result;
}

int __wrap_fprintf(FILE *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int result = __wrap_vfprintf(file, format, list);
    va_end(list);
    return result;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    int before = ga_cancel_off(), result = __real_open(path, flags, mode);
    ga_cancel_back(before);
    return result;
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    int before = ga_cancel_off(), result = __real_openat(folder, path, flags, mode);
    ga_cancel_back(before);
    return result;
}

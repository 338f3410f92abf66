/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gpuaasd/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

__attribute__((format(printf, 2, 3))) static void notify_tell(const struct notify *notify,
                                                              const char *format, ...)
{
    char text[400];
    va_list args;
    if (notify->fd < 0) {
        return;
    }
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length > 0) { /* whoever does not read is not waited for */
        size_t bytes = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
        (void)!send(notify->fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* A path, or with '@' in front a name that lies in no folder. -1: no such socket. */
static int notify_connect(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length >= sizeof address.sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(address.sun_path, name, length);
    if (name[0] == '@') {
        address.sun_path[0] = 0;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void watchdog_turn(uv_timer_t *timer)
{
    notify_tell(timer->data, "WATCHDOG=1");
}

/* Half of the time after which it counts as hung; 0: nobody looks. */
static uint64_t watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    bool ours = pid == NULL || strtol(pid, NULL, 10) == (long)getpid();
    return usec != NULL && ours ? strtoull(usec, NULL, 10) / 2000 : 0;
}

void notify_init(struct notify *notify, uv_loop_t *loop)
{
    const char *name = getenv("NOTIFY_SOCKET");
    uint64_t interval_ms = name != NULL ? watchdog_ms() : 0;
    notify->fd = name != NULL ? notify_connect(name) : -1;
    if (name != NULL && notify->fd < 0) {
        ga_warn("NOTIFY_SOCKET=%s: %s; the service manager is not told that gpuaasd is ready", name,
                strerror(errno));
    }
    notify->watchdog.data = notify;
    (void)uv_timer_init(loop, &notify->watchdog);
    uv_unref((uv_handle_t *)&notify->watchdog);
    if (interval_ms != 0) {
        (void)uv_timer_start(&notify->watchdog, watchdog_turn, interval_ms, interval_ms);
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_fini(struct notify *notify)
{
    uv_close((uv_handle_t *)&notify->watchdog, NULL);
    if (notify->fd >= 0) {
        close(notify->fd);
        notify->fd = -1;
    }
}

void notify_ready(const struct notify *notify)
{
    notify_tell(notify, "READY=1\nSTATUS=serving");
}

void notify_reloading(const struct notify *notify)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* systemd compares it with its own clock */
    notify_tell(notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void notify_stopping(const struct notify *notify)
{
    notify_tell(notify, "STOPPING=1");
}

void notify_status(const struct notify *notify, const char *text)
{
    notify_tell(notify, "STATUS=%s", text);
}

void notify_extend(const struct notify *notify, uint64_t usec)
{
    notify_tell(notify, "EXTEND_TIMEOUT_USEC=%" PRIu64, usec);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Notices of gpuaasd to the service manager that has started it (systemd's Type=notify): datagrams
 * to the socket of NOTIFY_SOCKET, as sd_notify(3) describes them. Without that variable nothing
 * happens. */
#ifndef SERVER_GPUAASD_NOTIFY_H
#define SERVER_GPUAASD_NOTIFY_H

#include <uv.h>

struct notify {
    int fd; /* -1: nobody is to be told */
    uv_timer_t watchdog;
};

/* Takes NOTIFY_SOCKET and WATCHDOG_USEC out of the environment, so that no child tells in our name.
 * A wrong value is logged. */
void notify_init(struct notify *notify, uv_loop_t *loop);
void notify_fini(struct notify *notify);

void notify_ready(const struct notify *notify);
/* A reload begins; notify_ready ends it. */
void notify_reloading(const struct notify *notify);
void notify_stopping(const struct notify *notify);
/* One line for people: what it does now. */
void notify_status(const struct notify *notify, const char *text);
/* Stopping may take so long; systemd waits at least that long from now on. */
void notify_extend(const struct notify *notify, uint64_t usec);

#endif

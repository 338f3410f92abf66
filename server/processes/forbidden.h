/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process has made a system call that its sandbox does not allow. */
#ifndef SERVER_PROCESSES_FORBIDDEN_H
#define SERVER_PROCESSES_FORBIDDEN_H

/* Names the system call in the log. `client` as in base/log.h; `label` is its application's. */
void forbidden_log(const char *client, int pid, const char *label, int call);

#endif

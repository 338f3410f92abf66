/* SPDX-License-Identifier: Apache-2.0 */
/* Which system calls a backend process may make. Where all its devices are software GPUs, that is
 * a list; any other call ends the process, and gpuaasd logs which it was. NVIDIA's driver does what
 * it likes, but for calls that no driver needs, which fail with EPERM.
 *
 * Note: this protects the machine and other applications from a process that an application has
 * taken over. It is no part of what an honest process can do wrong. */
#ifndef SERVER_BACKEND_SANDBOX_H
#define SERVER_BACKEND_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Before the driver is opened, and for software GPUs alone: nothing below / can be changed from
 * here on, except the file of SOFTGPU_TRACE and RDMA devices, and processes outside of this one
 * cannot be looked into. Without effect if the kernel lacks Landlock. */
void sandbox_files(void);

struct sandbox_needs {
    bool soft; /* all devices are software GPUs */
    bool rdma; /* there is a card, and connections may use it */
};

/* Holds for all threads, and for ever. GA_UNSUPPORTED: `why`. */
GA_CHECKED enum ga_status sandbox_calls(const struct sandbox_needs *needs, char *why,
                                        size_t why_size);

/* From here on no socket can be made to listen. Without effect before sandbox_calls. */
void sandbox_listens(void);

#endif

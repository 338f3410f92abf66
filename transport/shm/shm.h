/* SPDX-License-Identifier: Apache-2.0 */
/* The shm transport's table: between programs of one machine.
 *
 *     shm:NAME, shm: (the default port is the name)
 *
 * A connection is a Unix socket in the abstract namespace, "gpuaas/NAME", and a stream of bytes
 * over it. The client may give it rings (ops->upgrade) before its first byte: then bytes move
 * through shared memory, and the sockets only wake sleeping threads and show when the other process
 * is gone. */
#ifndef TRANSPORT_SHM_SHM_H
#define TRANSPORT_SHM_SHM_H

#include "transport/transport.h"

#define SHM_NAME_MAX 64u
#define SHM_IDLE_NS  UINT64_C(1000000000) /* an empty ring then gives memory back */

extern const struct transport_ops transport_shm;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The rdma transport's table: between machines whose network cards write into each other's memory
 * (RoCE version 2, through libibverbs).
 *
 *     rdma://host:port
 *
 * A connection is a TCP connection and a stream of bytes over it. The client may upgrade it
 * (ops->upgrade) before its first byte: then each end gives the other one a ring of its memory to
 * write into, and the TCP connection only shows when the other end is gone. The client may also
 * share memory that the server reads and writes (ops->one_sided). A listener accepts plain TCP
 * clients as well, which send no offer. */
#ifndef TRANSPORT_RDMA_RDMA_H
#define TRANSPORT_RDMA_RDMA_H

#include "transport/transport.h"

extern const struct transport_ops transport_rdma;

#endif

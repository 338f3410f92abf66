/* SPDX-License-Identifier: Apache-2.0 */
/* Non-blocking stream sockets: the common part of tcp and shm (inside transport/). */
#ifndef TRANSPORT_SOCKET_H
#define TRANSPORT_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/status.h"

/* As the functions of the same names in struct transport_ops. `*out`: close-on-exec, above stdio.
 */
GA_CHECKED enum ga_status socket_accept(int listener, int *out);
GA_CHECKED enum ga_status socket_send(int fd, const struct iovec *pieces, int count, size_t *sent);
GA_CHECKED enum ga_status socket_receive(int fd, void *to, size_t size, size_t *got);
/* The addresses of both ends; an IPv4 address as IPv6 (::ffff:a.b.c.d). GA_UNSUPPORTED: not a
 * TCP connection; GA_LOST. */
GA_CHECKED enum ga_status socket_ends(int fd, struct in6_addr *here, struct in6_addr *there);
/* Whether the other end is on this machine: a Unix socket, loopback, or one address for both.
 * GA_LOST: it is not connected. */
GA_CHECKED enum ga_status socket_is_here(int fd, bool *here);

#endif

/* Non-blocking stream sockets: what tcp and shm have in common (inside transport/). */
#ifndef TRANSPORT_SOCKET_H
#define TRANSPORT_SOCKET_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/status.h"

/* As the functions of the same names in struct transport_ops. `*out`: close-on-exec, above stdio.
 */
GA_CHECKED enum ga_status socket_accept(int listener, int *out);
GA_CHECKED enum ga_status socket_send(int fd, const struct iovec *pieces, int count, size_t *sent);
GA_CHECKED enum ga_status socket_receive(int fd, void *to, size_t size, size_t *got);

#endif

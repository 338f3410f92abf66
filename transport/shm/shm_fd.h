/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors over the socket of doorbells (inside transport/). Each comes with a byte, which is
 * a doorbell like others. */
#ifndef TRANSPORT_SHM_SHM_FD_H
#define TRANSPORT_SHM_SHM_FD_H

#include "base/status.h"

#define SHM_PASSED_MAX 4u /* descriptors that nobody has taken yet; further ones are closed */

struct shm_passed {
    int fds[SHM_PASSED_MAX]; /* in their order */
    unsigned count;
};

/* GA_AGAIN: the socket is full. */
GA_CHECKED enum ga_status shm_pass_send(int socket, int fd);
/* Reads bytes, and the descriptors of at most one message. GA_AGAIN: there are none. GA_LOST. */
GA_CHECKED enum ga_status shm_pass_receive(int socket, struct shm_passed *passed);
/* Takes the first descriptor; there must be one. */
int shm_passed_first(struct shm_passed *passed);

#endif

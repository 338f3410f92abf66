/* SPDX-License-Identifier: Apache-2.0 */
/* Administrators over the network, without the encryption: connections that prove a certificate,
 * and a gpuaasd that answers each of their lines with another one. The target `admin` chooses the
 * contents of the lines. */
#ifndef TESTS_FUZZ_REMOTE_ADMIN_H
#define TESTS_FUZZ_REMOTE_ADMIN_H

#include "server/gpuaasd/gpuaasd.h"

enum remote_admin_who {
    REMOTE_ADMIN_VALID,
    REMOTE_ADMIN_UNKNOWN,  /* a certificate that nobody has entered */
    REMOTE_ADMIN_TENANT,   /* one of a tenant */
    REMOTE_ADMIN_NO_PROOF, /* none */
    REMOTE_ADMIN_COUNT
};

/* gpuaasd has a store with a certificate, and the room of admins. */
void remote_admin_init(struct gpuaasd *gpuaasd);
/* For each input: nobody has failed before; behind it. */
void remote_admin_begin(struct gpuaasd *gpuaasd);
void remote_admin_end(struct gpuaasd *gpuaasd);
/* gpuaasd's end of a connection. */
struct transport_conn remote_admin_conn(int fd, enum remote_admin_who who);

#endif

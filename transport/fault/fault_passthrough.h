/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that a breaking connection passes on unchanged: descriptors, and memory that a
 * network card reaches (inside transport/). The wrapped transport may lack either:
 * GA_UNSUPPORTED. */
#ifndef TRANSPORT_FAULT_FAULT_PASSTHROUGH_H
#define TRANSPORT_FAULT_FAULT_PASSTHROUGH_H

#include "transport/transport.h"

/* The state of a connection begins with the wrapped connection. */
static inline struct transport_conn *fault_inner(const struct transport_conn *conn)
{
    return conn->state;
}

GA_CHECKED enum ga_status fault_send_fd(struct transport_conn *conn, int fd);
GA_CHECKED enum ga_status fault_receive_fd(struct transport_conn *conn, int *fd);
bool fault_identify(const struct transport_conn *conn, struct transport_identity *out);
bool fault_begun(const struct transport_conn *conn);
extern const struct transport_one_sided fault_one_sided;

#endif

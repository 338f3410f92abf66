/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process in this process: softgpu and a data connection that ends without the process.
 * A backend process never takes its connection down, it exits; what is done here instead is also
 * the check that ending a context gives everything back. */
#ifndef TESTS_FUZZ_SERVED_H
#define TESTS_FUZZ_SERVED_H

#include "server/session/conn.h"

#define SERVED_DEVICES 2u

/* Once: the devices. */
void served_init(void);
/* Serves `transport` until it ends, then takes everything down. Every hello is admitted. */
void served_run(const struct transport_conn *transport, const struct handshake_data_hello *hello);

#endif

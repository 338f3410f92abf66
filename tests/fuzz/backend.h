/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process in this process: softgpu and a data connection, whose end must leave nothing
 * behind. */
#ifndef TESTS_FUZZ_BACKEND_H
#define TESTS_FUZZ_BACKEND_H

#include "server/conn/conn.h"

#define FUZZ_BACKEND_DEVICES 2u

/* Once: the devices. */
void fuzz_backend_init(void);
/* Serves `transport` until it ends, then takes everything down. Every hello is admitted. The
 * application may have so much device memory. */
void fuzz_backend_run(const struct transport_conn *transport,
                      const struct handshake_data_hello *hello, uint64_t device_bytes_max);

#endif

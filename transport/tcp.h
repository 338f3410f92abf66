/* SPDX-License-Identifier: Apache-2.0 */
/* The tcp transport's table. */
#ifndef TRANSPORT_TCP_H
#define TRANSPORT_TCP_H

#include "transport/transport.h"

extern const struct transport_ops transport_tcp;

#endif

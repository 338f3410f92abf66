/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context/mark.h"

#include "client/conn/conn.h"

uint64_t client_mark_of(const struct client_conn *conn, uint64_t sequence)
{
    return (uint64_t)client_conn_index(conn) << 56 | sequence;
}

bool client_mark_reaches(uint64_t mark, uint64_t wanted)
{
    return mark >> 56 == wanted >> 56 && mark >= wanted;
}

uint64_t client_mark_now(const struct client_conn *conn)
{
    return client_mark_of(conn, client_conn_submitted(conn));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values in pinned memory. */
#include "client/stream/host_value.h"

#include "client/transfer/pinned.h"

bool client_host_value_holds(const struct front_value *value)
{
    uint64_t now;
    return !client_host_load(value->address, value->bytes, &now) ||
           client_host_value_meets(value, now);
}

bool client_host_value_meets(const struct front_value *value, uint64_t now)
{
    uint64_t mask = value->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (value->wait) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == (value->value & mask);
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & value->value & mask) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return (~(now | value->value) & mask) != 0;
    default: /* cyclic */
        return ((now - value->value) & mask) <= mask >> 1;
    }
}

void client_host_value_store(const struct front_value *value)
{
    client_host_store(value->address, value->bytes, value->value);
}

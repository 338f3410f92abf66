/* Values in pinned memory that streams write or wait for: the client does it when the stream's turn
 * has come (host_function.c). */
#ifndef CLIENT_STREAM_HOST_VALUE_H
#define CLIENT_STREAM_HOST_VALUE_H

#include <stdbool.h>

#include "front/front.h"

/* Also of memory that is not pinned any more: nobody can write there what would be waited for. */
bool client_host_value_holds(const struct front_value *value);
/* Whether it is what is waited for. */
bool client_host_value_meets(const struct front_value *value, uint64_t now);
void client_host_value_store(const struct front_value *value);

#endif

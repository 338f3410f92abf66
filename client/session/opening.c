/* SPDX-License-Identifier: Apache-2.0 */
/* The message that opens a session, on whichever connection. */
#include "client/session/opening.h"

#include <stdio.h>
#include <string.h>

#include "client/alloc/window.h"
#include "client/conn/greeting.h"
#include "client/session/servers.h"
#include "front/front.h"

void opening_refused(struct opening *opening, struct ga_reader *values)
{
    struct handshake_refused refused;
    opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    snprintf(opening->why, sizeof opening->why, "refused");
    if (handshake_refused_read(values, &refused) == GA_OK) {
        opening->result = front_result_of(refused.result); /* never 0 */
        snprintf(opening->why, sizeof opening->why, "%s", refused.reason);
    }
}

void opening_hello(const struct opening *opening, enum handshake_kind kind,
                   struct handshake_data_hello *hello)
{
    *hello = (struct handshake_data_hello){.magic = WIRE_MAGIC,
                                           .major = WIRE_MAJOR,
                                           .minor = WIRE_MINOR,
                                           .kind = kind,
                                           .device = opening->device->index};
    memcpy(hello->application, client_application, sizeof hello->application);
    memcpy(hello->id, opening->ticket.id, sizeof hello->id);
    memcpy(hello->key, opening->ticket.key, sizeof hello->key);
    if (kind == HANDSHAKE_DATA) {
        hello->window = opening->window;
        hello->context = opening->context;
        hello->takes = HANDSHAKE_TAKES_OUTPUT | HANDSHAKE_TAKES_TRIM | HANDSHAKE_TAKES_NOTICES;
    }
}

/* The server reserves as many addresses as we propose, or none, and maps the block that we wish
 * for, or none. */
static bool welcome_is_answer(const struct opening *opening,
                              const struct handshake_data_welcome *welcome)
{
    const struct handshake_window *window = &welcome->window;
    uint64_t granularity = opening->device->granularity_bytes;
    return (window->bytes == 0 || window->bytes == opening->window.bytes) &&
           (granularity == 0 || window->base % granularity == 0) &&
           (welcome->block_bytes == 0 ||
            (window->bytes != 0 && welcome->block_bytes == opening->context.block_bytes));
}

enum ga_status opening_welcome(struct opening *opening, uint16_t opcode, struct ga_reader *values,
                               struct handshake_data_welcome *welcome)
{
    if (opcode == WIRE_REFUSED) {
        opening_refused(opening, values);
        return GA_DENIED;
    }
    if (opcode != WIRE_DATA_WELCOME || handshake_data_welcome_read(values, welcome) != GA_OK ||
        !welcome_is_answer(opening, welcome)) {
        snprintf(opening->why, sizeof opening->why, CLIENT_GREETING_FOREIGN);
        return GA_INVALID;
    }
    for (uint32_t i = 0; i < welcome->lacking_count; i++) {
        api_op_set_add(&opening->lacking, welcome->lacking[i]);
        opening->lacking_count++;
    }
    opening->session = welcome->session;
    opening->compresses = (welcome->takes & HANDSHAKE_TAKES_COMPRESSED) != 0;
    opening->first = (struct client_first){.made = welcome->context_made,
                                           .result = front_result_of(welcome->context_result),
                                           .block_bytes = welcome->block_bytes};
    opening->cache_bytes = welcome->client_cache_bytes;
    return GA_OK;
}

/* ---- the window's rounds */

/* The server proposes `theirs` instead of ours: what to propose next; none when nothing is free. */
static void next_window(struct opening *opening, const struct handshake_window *theirs)
{
    if (opening->window.bytes != 0) {
        client_window_release(&opening->window);
    }
    opening->window = *theirs;
    if (theirs->bytes != 0 && !client_window_reserve(theirs) &&
        !client_window_next(opening->device->memory_bytes, &opening->window)) {
        opening->window = (struct handshake_window){0};
    }
}

static enum ga_status window_failed(struct opening *opening)
{
    opening->result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    snprintf(opening->why, sizeof opening->why,
             "client and server found no address range that is free in both");
    return GA_INVALID;
}

static bool window_agreed(const struct opening *opening,
                          const struct handshake_data_welcome *welcome)
{
    return welcome->window.base == opening->window.base &&
           welcome->window.bytes == opening->window.bytes;
}

enum ga_status opening_agree(struct opening *opening, opening_ask *ask, void *user,
                             struct handshake_data_welcome *welcome)
{
    for (unsigned round = 0; !window_agreed(opening, welcome); round++) {
        next_window(opening, &welcome->window);
        if (welcome->window.bytes == 0) {
            return GA_OK; /* unpinned: the server has said so */
        }
        if (round == HANDSHAKE_WINDOW_ROUNDS) {
            return window_failed(opening); /* it had to say so by now */
        }
        GA_TRY(ask(opening, user, welcome));
    }
    return GA_OK;
}

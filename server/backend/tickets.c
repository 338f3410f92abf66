/* SPDX-License-Identifier: Apache-2.0 */
/* Checking tickets. Keys are compared in a time that does not depend on them. */
#include "server/backend/tickets.h"

#include <string.h>
#include <sys/random.h>

bool tickets_add(struct ticket_table *table, const struct channel_ticket *ticket,
                 uint64_t expires_ns, uint64_t now_ns)
{
    /* An application with many devices uses them up faster than they expire. */
    bool full = table->count == TICKETS_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        bool used_up = full && table->tickets[i].used[HANDSHAKE_DATA];
        if (table->tickets[i].expires_ns > now_ns && !used_up) {
            table->tickets[kept++] = table->tickets[i];
        }
    }
    table->count = kept;
    table->arrived++;
    if (table->count == TICKETS_MAX) {
        return false;
    }
    struct ticket *added = &table->tickets[table->count++];
    *added =
        (struct ticket){.device = ticket->device, .gpu = ticket->gpu, .expires_ns = expires_ns};
    added->used[HANDSHAKE_BULK] = true;
    memcpy(added->id, ticket->id, sizeof added->id);
    memcpy(added->key, ticket->key, sizeof added->key);
    return true;
}

bool tickets_make(struct ticket_table *table, uint32_t connection, struct channel_ticket *made,
                  uint64_t expires_ns, uint64_t now_ns)
{
    struct channel_ticket ticket = {.device = connection, .gpu = UINT32_MAX};
    if (getrandom(ticket.id, sizeof ticket.id, 0) != (ssize_t)sizeof ticket.id ||
        getrandom(ticket.key, sizeof ticket.key, 0) != (ssize_t)sizeof ticket.key ||
        !tickets_add(table, &ticket, expires_ns, now_ns)) {
        return false;
    }
    table->arrived--; /* it has not come from gpuaasd */
    struct ticket *added = &table->tickets[table->count - 1];
    added->used[HANDSHAKE_DATA] = true;
    added->used[HANDSHAKE_SIDE] = true;
    added->used[HANDSHAKE_BULK] = false;
    *made = ticket;
    return true;
}

static bool equal_in_constant_time(const uint8_t *a, const uint8_t *b, size_t size)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < size; i++) {
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    }
    return difference == 0;
}

static const struct ticket *ticket_find(const struct ticket_table *table, const uint8_t *id)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (memcmp(table->tickets[i].id, id, sizeof table->tickets[i].id) == 0) {
            return &table->tickets[i];
        }
    }
    return NULL;
}

bool tickets_has(const struct ticket_table *table, const uint8_t *id)
{
    return ticket_find(table, id) != NULL;
}

bool tickets_gpu(const struct ticket_table *table, const uint8_t *id, uint32_t *gpu)
{
    const struct ticket *found = ticket_find(table, id);
    *gpu = found != NULL ? found->gpu : 0;
    return found != NULL;
}

enum ga_status tickets_use(struct ticket_table *table, const struct handshake_data_hello *hello,
                           uint64_t now_ns, const char **why)
{
    struct ticket *found = NULL;
    for (uint32_t i = 0; i < table->count; i++) {
        if (memcmp(table->tickets[i].id, hello->id, sizeof hello->id) == 0) {
            found = &table->tickets[i];
        }
    }
    if (found == NULL || !equal_in_constant_time(found->key, hello->key, sizeof hello->key)) {
        *why = "this ticket is not known here";
    } else if (found->expires_ns <= now_ns) {
        *why = "the ticket has expired";
    } else if (found->device != hello->device ||
               memcmp(table->application, hello->application, sizeof hello->application) != 0) {
        *why = "the ticket is for another device or application";
    } else if (found->voided) {
        *why = "the ticket was taken back before it was used: somebody else needed the GPU, or its "
               "client's control connection has ended";
    } else if (found->used[hello->kind]) {
        *why = "the ticket has been used";
    } else {
        found->used[hello->kind] = true;
        return GA_OK;
    }
    return GA_DENIED;
}

const uint8_t *tickets_key(const struct ticket_table *table, const uint8_t *id, uint64_t now_ns,
                           const char **why)
{
    *why = "this ticket is not known here";
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ticket *at = &table->tickets[i];
        if (memcmp(at->id, id, sizeof at->id) != 0) {
            continue;
        }
        if (at->expires_ns <= now_ns) {
            *why = "the ticket has expired";
        } else if (at->used[HANDSHAKE_DATA] && at->used[HANDSHAKE_SIDE] &&
                   at->used[HANDSHAKE_BULK]) {
            *why = "the ticket has been used";
        } else {
            return at->key;
        }
    }
    return NULL;
}

bool tickets_void(struct ticket_table *table, uint32_t gpu)
{
    bool used = false;
    for (uint32_t i = 0; i < table->count; i++) {
        struct ticket *at = &table->tickets[i];
        used = used || (at->gpu == gpu && at->used[HANDSHAKE_DATA]);
        at->voided = at->voided || (at->gpu == gpu && !at->used[HANDSHAKE_DATA]);
    }
    return used;
}

void tickets_void_all(struct ticket_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct ticket *at = &table->tickets[i];
        at->voided = at->voided || !at->used[HANDSHAKE_DATA];
    }
}

bool tickets_any(const struct ticket_table *table, uint64_t now_ns)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ticket *at = &table->tickets[i];
        if (at->expires_ns > now_ns && !at->used[HANDSHAKE_DATA] && !at->voided) {
            return true;
        }
    }
    return false;
}

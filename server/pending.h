/* SPDX-License-Identifier: Apache-2.0 */
/* Pending connections, which have not greeted: how many there may be, which one makes room for the
 * next one, and whose encryption goes on next. Nothing here touches a connection; gpuaasd and the
 * backend processes do what it answers.
 *
 * Connections are counted together by their source (transport_source). When there are more than
 * `most`, the source that has most loses one: of those that have said nothing and those that have
 * said something the more numerous ones (of equally many the latter) lose the one that has been so
 * for longest. A connection that greets at once goes through, however many others come and say
 * nothing or little, also if all come from one address; and a source with few connections never
 * makes room for one with many. One source may have all places as long as nobody else wants them.
 *
 * Note: the first byte counts, not the last one: a connection that sends a byte now and then gains
 * nothing. */
#ifndef SERVER_PENDING_H
#define SERVER_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/number_map.h"
#include "base/status.h"
#include "transport/transport.h"

#define PENDING_BUFFER_BYTES 5632u /* holds a first message (see frame_values) */
_Static_assert((WIRE_HELLO_MAX + sizeof(struct wire_header)) * 4 <= 3 * PENDING_BUFFER_BYTES,
               "it does");

struct pending_source;

/* Those that wait for a step. */
enum pending_steps { PENDING_FIRST, PENDING_SLOW, PENDING_BEGUN, PENDING_STEPS };

/* A member of the connection. Zero until it is added. */
struct pending_entry {
    struct pending_source *source; /* NULL: it is in no table */
    struct ga_list of_source, of_all;
    struct ga_list step;
    uint64_t since_ns;
    bool heard; /* it has said something */
    /* Set before it wants a step: */
    bool is_slow; /* it is taken when the caller has time for slow ones */
    bool begun;   /* what takes long has been done for it, in an earlier step */
    enum pending_steps among;
};

struct pending_table {
    unsigned most, count, source_count;
    unsigned highest;        /* at most so many connections does one source have */
    struct ga_list *sources; /* by the number of connections: highest + 1 lists and more */
    struct ga_list entries;  /* all, longest here first */
    struct ga_list stepping[PENDING_STEPS]; /* sources some of whose connections wait */
    bool oldest_next;     /* of the slow ones: the last to come and the first one alternate */
    unsigned begun_turns; /* in succession */
    struct ga_number_map by_number;
    uint64_t seed;
};

/* `most` is not 0. GA_NO_MEMORY. */
GA_CHECKED enum ga_status pending_table_init(struct pending_table *table, unsigned most);
/* It must be empty. */
void pending_table_fini(struct pending_table *table);

/* Adds a connection that is here since `now_ns`, which never goes back. GA_NO_MEMORY. */
GA_CHECKED enum ga_status pending_table_add(struct pending_table *table,
                                            struct pending_entry *entry,
                                            const uint8_t source[TRANSPORT_SOURCE_BYTES],
                                            uint64_t now_ns);
/* The connection has sent something. */
void pending_entry_heard(struct pending_entry *entry);
/* An entry that is in no table is ignored. */
void pending_table_remove(struct pending_table *table, struct pending_entry *entry);

/* The one that must go next, because there are too many (it is not the one that has just been
 * added) or because something that each of them takes has run out. NULL: there is none. */
struct pending_entry *pending_table_victim(const struct pending_table *table);
static inline bool pending_table_is_over(const struct pending_table *table)
{
    return table->count > table->most;
}
/* That which has been here longest. NULL: there is none. */
struct pending_entry *pending_table_oldest(const struct pending_table *table);

/* ---- steps: work for a connection that is done by few threads (workers.h) */

/* The connection waits for a step. */
void pending_table_want_step(struct pending_table *table, struct pending_entry *entry);
/* The one whose step is next, of the slow ones or of the others; it waits no more, and is slow no
 * more. Among the others those that have begun go first, so that a connection that has had a turn
 * need not wait for the next one behind all that have come in between; while others wait, three of
 * four. Sources take turns; of one source the last one to ask comes first, so that under a flood
 * some are done in time instead of none. Among the slow ones the last and the first to ask come in
 * turns, so that none waits for ever. NULL: none waits. */
struct pending_entry *pending_table_next_step(struct pending_table *table, bool slow);
static inline bool pending_table_has_slow(const struct pending_table *table)
{
    return !ga_list_empty(&table->stepping[1]);
}

#endif

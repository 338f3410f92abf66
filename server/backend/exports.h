/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of device memory that an application lets others use, by the keys of the sharing
 * registry (server/sharing/sharing_registry.h). They stay in the backend process that has made
 * them, and gpuaasd fetches one when somebody opens it, so what an application shares uses up its
 * own descriptors and nobody else's.
 *
 * Under the backend's ticket_lock: the submit thread adds and withdraws, the thread that reads the
 * channel looks up. */
#ifndef SERVER_BACKEND_EXPORTS_H
#define SERVER_BACKEND_EXPORTS_H

#include "base/list.h"
#include "server/channel.h"

struct export_entry;

struct exports {
    struct ga_list entries; /* struct export_entry */
};

void exports_init(struct exports *exports);
/* Closes them all. */
void exports_fini(struct exports *exports);
/* An entry with a descriptor of its own for what `fd` is; not in the table yet. NULL: no memory or
 * descriptors left. */
struct export_entry *export_make(int fd);
/* Frees an entry (or NULL) that is not in the table. */
void export_free(struct export_entry *entry);
/* Takes it into the table; `shared`: the answer to SHARE. */
void exports_add(struct exports *exports, struct export_entry *entry,
                 const struct channel_request *shared);
/* Closes those that a WITHDRAW is about. */
void exports_withdraw(struct exports *exports, const struct channel_request *withdrawn);
/* The descriptor with this key, which stays the table's; -1: there is none. */
int exports_find(const struct exports *exports, const uint8_t *key);

#endif

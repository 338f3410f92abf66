/* SPDX-License-Identifier: Apache-2.0 */
#include "server/backend/exports.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_entry {
    struct ga_list link;
    int fd;
    struct channel_request what;
};

void exports_init(struct exports *exports)
{
    ga_list_init(&exports->entries);
}

struct export_entry *export_make(int fd)
{
    struct export_entry *entry = calloc(1, sizeof *entry);
    if (entry != NULL) {
        entry->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (entry->fd < 0) {
            free(entry);
            entry = NULL;
        }
    }
    return entry;
}

void export_free(struct export_entry *entry)
{
    if (entry != NULL) {
        close(entry->fd);
        explicit_bzero(entry, sizeof *entry);
        free(entry);
    }
}

static void export_remove(struct export_entry *entry)
{
    ga_list_remove(&entry->link);
    export_free(entry);
}

void exports_fini(struct exports *exports)
{
    ga_list_each (at, next, &exports->entries) {
        export_remove(ga_container(at, struct export_entry, link));
    }
}

void exports_add(struct exports *exports, struct export_entry *entry,
                 const struct channel_request *shared)
{
    entry->what = *shared;
    ga_list_append(&exports->entries, &entry->link);
}

void exports_withdraw(struct exports *exports, const struct channel_request *withdrawn)
{
    ga_list_each (at, next, &exports->entries) {
        struct export_entry *entry = ga_container(at, struct export_entry, link);
        if (entry->what.what == withdrawn->what &&
            entry->what.address - withdrawn->address < withdrawn->bytes) {
            export_remove(entry);
        }
    }
}

/* Only gpuaasd asks, so the time that it takes tells nobody anything. */
int exports_find(const struct exports *exports, const uint8_t *key)
{
    ga_list_each (at, next, &exports->entries) {
        const struct export_entry *entry = ga_container(at, struct export_entry, link);
        if (memcmp(entry->what.key, key, sizeof entry->what.key) == 0) {
            return entry->fd;
        }
    }
    return -1;
}

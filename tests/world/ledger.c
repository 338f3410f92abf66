/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of usage, in the place of usage/ledger_writer.c, which has a thread: rows are in the
 * store some milliseconds after they were given. */
#include "server/usage/ledger_writer.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/list.h"
#include "tests/world/node.h"

#define WRITE_MS 20u

struct world_ledger {
    struct ledger_writer *writer;
    struct world *world;
    struct server_timer timer;
};

static struct world_ledger *ledger_of(const struct ledger_writer *writer)
{
    return (struct world_ledger *)writer->done;
}

static void ledger_written(struct server_timer *timer)
{
    struct ledger_writer *writer = ga_container(timer, struct world_ledger, timer)->writer;
    writer->why[0] = 0;
    writer->busy = false;
    enum ga_status status = store_usage_write_known(writer->store, writer->rows, writer->count,
                                                    writer->why, sizeof writer->why);
    cr_assert_eq(status, GA_OK, "%s", store_why(writer->store));
    writer->written(writer, status, writer->why);
}

enum ga_status ledger_writer_start(struct ledger_writer *writer, uv_loop_t *loop, const char *path,
                                   void (*written)(struct ledger_writer *writer,
                                                   enum ga_status status, const char *why))
{
    struct world_node *node = ga_container(loop, struct world_node, loop.uv);
    struct world_ledger *ledger = calloc(1, sizeof *ledger);
    cr_assert_not_null(ledger);
    *writer = (struct ledger_writer){
        .path = path, .store = node->storage.store, .written = written, .started = true};
    writer->done = (uv_async_t *)ledger;
    ledger->writer = writer;
    ledger->world = node->world;
    return GA_OK;
}

void ledger_writer_give(struct ledger_writer *writer, const struct store_usage *rows, size_t count,
                        int64_t before)
{
    writer->busy = true;
    writer->rows = rows;
    writer->count = count;
    writer->before = before;
    timers_start(&ledger_of(writer)->world->events, &ledger_of(writer)->timer, ledger_written,
                 WRITE_MS, 0);
}

void ledger_writer_stop(struct ledger_writer *writer)
{
    struct world_ledger *ledger = ledger_of(writer);
    if (writer->started && writer->busy) {
        timers_stop(&ledger->world->events, &ledger->timer);
        ledger_written(&ledger->timer);
    }
    writer->started = false;
}

enum ga_status ledger_writer_last(struct ledger_writer *writer, const struct store_usage *rows,
                                  size_t count, char *why, size_t why_size)
{
    free(writer->done);
    return count != 0 ? store_usage_write_known(writer->store, rows, count, why, why_size) : GA_OK;
}

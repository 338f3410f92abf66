/* SPDX-License-Identifier: Apache-2.0 */
#include "server/turns/backend_turns.h"

#include "server/processes/backend_process.h"
#include "server/turns/scheduler.h"

static enum ga_status turns_begin(struct backend_process *process)
{
    struct backend_ends *ends = &process->ends;
    process->turns = scheduler_process_begin(process->room->scheduler, process->number,
                                             ends->our_requests, ends->our_grants, ends->our_bell);
    if (process->turns == NULL) {
        return GA_NO_MEMORY;
    }
    ends->our_requests = NULL;
    ends->our_grants = NULL;
    ends->our_bell = -1;
    return GA_OK;
}

static void turns_room(struct backend_process *process)
{
    const struct channel_bare turns = {.kind = CHANNEL_TURNS};
    if (process->turns_untold) {
        process->turns_untold = backend_process_send(process, &turns, sizeof turns) == GA_AGAIN;
    }
}

enum ga_status backend_turns_begin_late(struct backend_process *process)
{
    bool takes = process->turns != NULL, probe = !takes && process->ends.our_requests == NULL;
    if (process->ending || probe) {
        return GA_OK;
    }
    if (!takes) {
        GA_TRY(turns_begin(process));
        process->turns_untold = true;
    }
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            GA_TRY(process->seats[i]->ops->turns(process->seats[i]));
        }
    }
    turns_room(process); /* the session that asks for a turn is known by then */
    return GA_OK;
}

static void turns_end(struct backend_process *process)
{
    scheduler_process_end(process->turns);
}

const struct process_turns_ops backend_turns_ops = {
    .begin = turns_begin, .room = turns_room, .end = turns_end};

/* SPDX-License-Identifier: Apache-2.0 */
/* An application that lacks memory makes those that use its GPU give theirs back; not more often
 * than it may, and without learning how many they are. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"
#include "server/seats/reclaim.h"
#include "server/seats/seat.h"
#include "server/tests/still_clock.h"

#define OTHERS 3

static struct still_clock still;
static struct processes room = {.timers = &still.timers};
static struct process {
    struct backend_process process;
    struct seat seat;
    int theirs; /* end of its channel */
} asker, others[OTHERS];

static void add(struct process *made, uint32_t gpu)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *made = (struct process){.process = {.room = &room, .fd = ends[0]}, .theirs = ends[1]};
    made->seat.process = &made->process;
    made->seat.of = (struct seat_application){.address = "127.0.0.1:1", .label = "a test"};
    made->seat.gpus[gpu / 64] = UINT64_C(1) << gpu % 64;
    made->process.seats[0] = &made->seat.base;
    ga_list_append(&room.processes, &made->process.link);
}

static void start(void)
{
    still_clock_init(&still);
    ga_list_init(&room.processes);
    add(&asker, 70);
    add(&others[0], 70);
    add(&others[1], 6); /* the same bit of another word */
    add(&others[2], 70);
}

TestSuite(reclaim, .init = start);

/* Whether the process has been asked to give memory back. */
static bool asked(const struct process *process)
{
    union channel_packet packet;
    enum ga_status status = channel_receive(process->theirs, &packet);
    cr_assert(status == GA_AGAIN ||
              (status == GA_OK && packet.kind == CHANNEL_REQUEST &&
               packet.request.verb == CHANNEL_TRIM && packet.request.number == 0));
    return status == GA_OK;
}

static uint64_t ask(struct process *process, uint64_t gpu, bool begin)
{
    struct channel_request packet = {
        .kind = CHANNEL_REQUEST, .verb = CHANNEL_TRIM, .address = gpu, .bytes = begin};
    cr_assert(reclaim_is(&packet));
    reclaim_answer(&process->seat, &packet);
    cr_assert_eq(packet.result, CUDA_SUCCESS);
    return packet.bytes;
}

static void give_back(struct process *process)
{
    struct channel_request packet = {.kind = CHANNEL_REQUEST, .verb = CHANNEL_TRIMMED};
    cr_assert(reclaim_is(&packet));
    reclaim_answer(&process->seat, &packet);
}

Test(reclaim, those_on_the_gpu_are_asked_and_not_counted)
{
    cr_assert_eq(ask(&asker, 70, true), 1, "it is told that there are some, not how many");
    cr_assert(asked(&others[0]) && asked(&others[2]));
    cr_assert_not(asked(&others[1]), "it uses another GPU");
    cr_assert_not(asked(&asker));
    give_back(&others[0]);
    cr_assert_eq(ask(&asker, 70, false), 1);
    give_back(&others[2]);
    cr_assert_eq(ask(&asker, 70, false), 0);
    cr_assert_not(asked(&others[0]) || asked(&others[2]), "a question makes nobody be asked");
}

Test(reclaim, of_a_gpu_that_is_not_its_own_nobody_learns_anything)
{
    cr_assert_eq(ask(&asker, 6, true), 0);
    cr_assert_eq(ask(&asker, 1u << 20, true), 0);
    cr_assert_not(asked(&others[1]));
    cr_assert_eq(ask(&others[0], 70, true), 1);
    cr_assert_eq(ask(&asker, 70, false), 0, "it has made nobody be asked itself");
}

Test(reclaim, an_application_may_ask_so_often)
{
    for (unsigned i = 0; i < RECLAIM_BURST; i++) {
        cr_assert_eq(ask(&asker, 70, true), 1);
        cr_assert(asked(&others[0]));
        give_back(&others[0]);
    }
    cr_assert_eq(ask(&asker, 70, true), 0);
    cr_assert_not(asked(&others[0]));
    cr_assert_eq(ask(&others[0], 70, true), 1, "others have turns of their own");
    still_clock_pass(&still, RECLAIM_EVERY_NS / GA_NS_PER_MS - 1);
    cr_assert_eq(ask(&asker, 70, true), 0);
    still_clock_pass(&still, 1);
    cr_assert_eq(ask(&asker, 70, true), 1);
    cr_assert(asked(&others[0]));
    cr_assert_eq(ask(&asker, 70, true), 0);
}

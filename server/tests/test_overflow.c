/* SPDX-License-Identifier: Apache-2.0 */
/* Turns in slots: a stream never copies before its bytes are there, gets on whatever other streams
 * do, and all of it is bounded. Streams are played here: what the driver would do, step by step. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire.h"
#include "server/pipeline/copy_overflow.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"

#define MIB (UINT64_C(1) << 20)

static void *pinned[64];
static unsigned pinned_count;

static CUresult fake_alloc(void **memory, size_t bytes, unsigned flags)
{
    cr_assert((flags & CU_MEMHOSTALLOC_PORTABLE) != 0 && (flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    cr_assert(pinned_count < 64);
    *memory = pinned[pinned_count++] = aligned_alloc(64, bytes);
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {FAKE_CONTEXT, .cuMemHostAlloc = fake_alloc,
                                          .cuMemHostGetDevicePointer_v2 = fake_pointer};
static struct staging staging;

static void start_with(uint64_t most)
{
    staging_init(&staging, &driver, &fake_ledger, MIB, most);
}

static void stop(void)
{
    ga_list_each (at, next, &staging.overflow.slots) {
        struct overflow_slot *slot = ga_container(at, struct overflow_slot, link);
        ga_list_each (turn, after, &slot->turns) { /* a test may leave some */
            free(ga_container(turn, struct overflow_turn, link));
        }
        free(slot);
    }
    while (pinned_count != 0) {
        free(pinned[--pinned_count]);
    }
}

TestSuite(overflow, .fini = stop, .timeout = 60);

static bool holds(const struct overflow_room *room)
{
    const uint32_t *word = (const uint32_t *)(uintptr_t)room->address;
    uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return room->waits && (int32_t)(now - room->number) < 0;
}

static struct overflow_room take(uint64_t lane, uint32_t bytes, bool in)
{
    struct overflow_room room;
    cr_assert_eq(overflow_room(&staging, 0, lane, bytes, in, &room), CUDA_SUCCESS);
    if (room.waits) {
        overflow_awaited(room.turn);
    }
    return room;
}

static void put(struct overflow_room *room, uint32_t bytes, uint8_t value)
{
    memset(room->aside != NULL ? room->aside->data : room->at, value, bytes);
    if (room->aside != NULL) {
        overflow_put(&staging, room->turn, room->aside);
        room->aside = NULL;
    }
}

static CUresult refused(uint64_t lane, uint32_t bytes, bool in)
{
    struct overflow_room room;
    return overflow_room(&staging, 0, lane, bytes, in, &room);
}

Test(overflow, a_turn_begins_when_the_one_before_is_over)
{
    start_with(64 * MIB);
    struct overflow_room first = take(7, OVERFLOW_BYTES, false);
    struct overflow_room second = take(7, OVERFLOW_BYTES, false);
    struct overflow_room third = take(7, OVERFLOW_BYTES, false);
    struct overflow_room fourth = take(7, OVERFLOW_BYTES, false);
    cr_assert(!first.waits && !second.waits && first.at != second.at, "a stream has two slots");
    cr_assert(holds(&third) && holds(&fourth));
    cr_assert(third.at == first.at && fourth.at == second.at);
    staging_give(&staging, second.turn);
    cr_assert(holds(&third) && !holds(&fourth), "each waits for its slot");
    staging_give(&staging, first.turn);
    cr_assert(!holds(&third));
    staging_give(&staging, fourth.turn);
    cr_assert(overflow_has(&staging, 7));
    staging_give(&staging, third.turn);
    cr_assert(!overflow_has(&staging, 7));
    struct overflow_room next = take(8, 16, false);
    cr_assert(!next.waits && pinned_count == 2, "free slots are anybody's");
    staging_give(&staging, next.turn);
}

Test(overflow, bytes_are_there_before_the_stream_goes_on)
{
    start_with(64 * MIB);
    struct overflow_room one = take(1, OVERFLOW_BYTES, false), two = take(1, OVERFLOW_BYTES, false);
    memset(one.at, 0xee, OVERFLOW_BYTES);
    struct overflow_room in = take(1, WIRE_CHUNK, true), more = take(1, 1000, true);
    struct overflow_room out = take(1, 100, false);
    cr_assert(in.waits && !more.waits && !out.waits, "pieces of a turn wait once");
    cr_assert(more.at == in.at + WIRE_CHUNK && out.at == more.at + wire_padded(1000));
    put(&in, WIRE_CHUNK, 5);
    cr_assert(one.at[0] == 0xee, "the slot is in use");
    staging_give(&staging, one.turn);
    cr_assert(!holds(&in) && in.at[0] == 5 && in.at[WIRE_CHUNK - 1] == 5);
    put(&more, 1000, 6); /* late: its turn has come, the driver has not been told to copy */
    cr_assert(more.at[0] == 6 && more.at[999] == 6 && out.at[0] == 0xee);
    struct overflow_room late = take(1, 1000, true);
    cr_assert(late.aside == NULL && !late.waits, "nothing keeps them");
    staging_give(&staging, two.turn);
    staging_give(&staging, in.turn);
    staging_give(&staging, more.turn);
    staging_give(&staging, late.turn);
    cr_assert(overflow_has(&staging, 1), "one piece is still there");
    staging_give(&staging, out.turn);
    cr_assert(!overflow_has(&staging, 1));
    cr_assert_eq(staging.overflow.used, pinned_count * (OVERFLOW_BYTES + 64));
    cr_assert_eq(fake_figure(FIGURE_HOST_BYTES), staging.overflow.used);
}

Test(overflow, a_piece_that_fails_holds_nobody)
{
    start_with(64 * MIB);
    struct overflow_room one = take(1, OVERFLOW_BYTES, false), two = take(1, OVERFLOW_BYTES, false);
    struct overflow_room failed = take(1, WIRE_CHUNK, true);
    put(&failed, WIRE_CHUNK, 1);
    struct overflow_room last = take(1, OVERFLOW_BYTES, false);
    struct overflow_room behind = take(1, OVERFLOW_BYTES, false);
    staging_give(&staging, failed.turn); /* the stream waits for its turn all the same */
    cr_assert(holds(&failed) && behind.at == failed.at && holds(&behind));
    staging_give(&staging, one.turn);
    cr_assert(!holds(&failed) && !holds(&behind));
    staging_give(&staging, two.turn);
    staging_give(&staging, last.turn);
    staging_give(&staging, behind.turn);
    cr_assert_eq(staging.overflow.turns, 0);
    cr_assert_eq(staging.overflow.used, 2 * (OVERFLOW_BYTES + 64));
    cr_assert_eq(fake_figure(FIGURE_HOST_BYTES), staging.overflow.used);
}

Test(overflow, bytes_and_turns_have_limits)
{
    enum { LEFT = 3 };
    start_with(2 * (OVERFLOW_BYTES + 64) + LEFT * WIRE_CHUNK);
    struct overflow_room one = take(1, OVERFLOW_BYTES, false), other = take(2, 64, false);
    cr_assert_eq(refused(3, 64, false), CUDA_ERROR_NOT_READY, "no slot is left");
    struct overflow_room asides[LEFT];
    for (unsigned i = 0; i < LEFT; i++) {
        asides[i] = take(1, WIRE_CHUNK, true);
    }
    cr_assert_eq(refused(1, WIRE_CHUNK, true), CUDA_ERROR_NOT_READY, "no memory is left");
    cr_assert_eq(fake_figure(FIGURE_HOST_BYTES), staging.overflow.used);
    struct overflow_room out = take(1, OVERFLOW_BYTES, false);
    cr_assert(holds(&out), "a copy to the host needs none");
    while (staging.overflow.turns < OVERFLOW_TURNS_MAX) {
        cr_assert(take(1, OVERFLOW_BYTES, false).waits);
    }
    cr_assert_eq(refused(1, OVERFLOW_BYTES, false), CUDA_ERROR_NOT_READY);
    staging_give(&staging, other.turn);
    struct staging_moves before = staging_moves(&staging);
    staging_give(&staging, one.turn);
    cr_assert(staging_wait(&staging, before, 0), "who waits for room is told");
    for (unsigned i = 0; i < LEFT; i++) {
        put(&asides[i], WIRE_CHUNK, 1);
        staging_give(&staging, asides[i].turn);
    }
    struct overflow_room again = take(3, WIRE_CHUNK, true);
    cr_assert(!again.waits, "the other's slot is free");
    cr_assert_eq(pinned_count, 2);
    staging_give(&staging, again.turn);
}

Test(overflow, at_the_end_no_stream_waits)
{
    start_with(64 * MIB);
    struct overflow_room rooms[6];
    for (unsigned i = 0; i < 6; i++) {
        rooms[i] = take(4, OVERFLOW_BYTES, false);
    }
    cr_assert(holds(&rooms[5]));
    staging_end(&staging);
    for (unsigned i = 0; i < 6; i++) {
        cr_assert(!holds(&rooms[i]));
    }
    cr_assert_eq(refused(5, 16, false), CUDA_ERROR_NOT_READY);
    for (unsigned i = 0; i < 6; i++) {
        staging_give(&staging, rooms[i].turn);
        cr_assert(!holds(&rooms[5]), "the word does not go back");
    }
}

Test(overflow, after_the_end_no_slot_is_written)
{
    start_with(64 * MIB);
    struct overflow_room one = take(4, OVERFLOW_BYTES, false), two = take(4, OVERFLOW_BYTES, false);
    struct overflow_room in = take(4, WIRE_CHUNK, true);
    memset(one.at, 0xee, OVERFLOW_BYTES);
    put(&in, WIRE_CHUNK, 5);
    staging_end(&staging);
    cr_assert(!holds(&in), "the driver reads the slot whenever it likes");
    staging_give(&staging, one.turn);
    cr_assert(in.at[0] == 0xee && in.at[WIRE_CHUNK - 1] == 0xee);
    staging_give(&staging, two.turn);
    staging_give(&staging, in.turn);
    cr_assert_eq(staging.overflow.used, pinned_count * (OVERFLOW_BYTES + 64));
}

/* ---- streams at random: each does its pieces in their order, when their turn has come */

enum { STREAMS = 5, PIECES = 400 };

struct piece {
    struct overflow_room room;
    uint32_t bytes;
    uint8_t value;
    bool in;
};

struct stream {
    struct piece pieces[PIECES];
    _Atomic unsigned submitted, done;
    unsigned given;
};

static struct stream streams[STREAMS];

static uint32_t below(uint32_t limit)
{
    static _Thread_local uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void submit(struct stream *stream, uint64_t lane)
{
    struct piece *piece = &stream->pieces[stream->submitted];
    *piece = (struct piece){.bytes = 1 + below(WIRE_CHUNK), .in = below(2) == 0};
    piece->value = (uint8_t)below(256);
    if (overflow_room(&staging, 0, lane, piece->bytes, piece->in, &piece->room) != CUDA_SUCCESS) {
        return;
    }
    if (piece->room.waits) {
        overflow_awaited(piece->room.turn);
    }
    if (piece->in) {
        put(&piece->room, piece->bytes, piece->value);
    }
    stream->submitted++;
}

/* The GPU: whether it would have got on. */
static bool step(struct stream *stream)
{
    struct piece *piece = &stream->pieces[stream->done];
    if (stream->done == stream->submitted || holds(&piece->room)) {
        return false;
    }
    for (uint32_t i = 0; piece->in && i < piece->bytes; i += piece->bytes / 7 + 1) {
        cr_assert_eq(piece->room.at[i], piece->value);
    }
    if (!piece->in) {
        memset(piece->room.at, piece->value, piece->bytes); /* nobody else's, or it shows */
    }
    stream->done++;
    return true;
}

/* The completion thread. */
static bool give(struct stream *stream)
{
    if (stream->given == stream->done) {
        return false;
    }
    staging_give(&staging, stream->pieces[stream->given++].room.turn);
    return true;
}

Test(overflow, streams_get_on_in_any_order)
{
    start_with(24 * MIB);
    unsigned left = STREAMS * PIECES, steps = 0;
    while (left != 0) {
        unsigned which = below(STREAMS);
        bool stands = below(1000) < 800 && which != steps / 500 % STREAMS;
        if (streams[which].submitted < PIECES && below(3) != 0) {
            submit(&streams[which], which + 1);
        }
        left -= !stands && step(&streams[which]) && give(&streams[which]);
        cr_assert(++steps < 10000000, "all stand still");
    }
    cr_assert_eq(staging.overflow.turns, 0);
    cr_assert_eq(staging.overflow.used, pinned_count * (OVERFLOW_BYTES + 64));
}

static void *all_run(void *turn)
{
    bool (*one)(struct stream * stream) = *(bool (**)(struct stream *))turn;
    for (unsigned left = STREAMS * PIECES; left != 0;) {
        left -= one(&streams[below(STREAMS)]);
    }
    return NULL;
}

Test(overflow, who_submits_who_copies_and_who_gives_back_are_three)
{
    bool (*gpu)(struct stream *) = step, (*completer)(struct stream *) = give;
    pthread_t others[2];
    start_with(24 * MIB);
    pthread_create(&others[0], NULL, all_run, &gpu);
    pthread_create(&others[1], NULL, all_run, &completer);
    for (unsigned left = STREAMS * PIECES; left != 0;) {
        unsigned which = below(STREAMS), before = streams[which].submitted;
        if (before < PIECES) {
            struct staging_moves seen = staging_moves(&staging);
            submit(&streams[which], which + 1);
            left -= streams[which].submitted - before;
            if (streams[which].submitted == before) {
                (void)staging_wait(&staging, seen, 1000000);
            }
        }
    }
    pthread_join(others[0], NULL);
    pthread_join(others[1], NULL);
    cr_assert_eq(staging.overflow.turns, 0);
    cr_assert_eq(staging.overflow.used, pinned_count * (OVERFLOW_BYTES + 64));
}

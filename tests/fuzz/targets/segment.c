/* SPDX-License-Identifier: Apache-2.0 */
/* The state that processes of a node share, while somebody writes any numbers to any place of it:
 * what this process knows of itself stays right, and nothing is read or written beside it. */
#include <stddef.h>

#include "base/clock.h"
#include "softgpu/node/event_page.h"
#include "softgpu/node/node_segment.h"
#include "softgpu/node/node_internal.h"
#include "softgpu/node/shared_chunks.h"
#include "softgpu/node/time_slices.h"
#include "tests/fuzz/input.h"

#define CHUNKS    100u
#define WAITS_MAX 2u /* a turn that somebody else seems to have lasts 50 ms */

struct play {
    struct fuzz_input input;
    struct sg_node *node;
    struct sg_node_device *device;
    struct sg_node_engine *engine;
    struct sg_event_page *mine, *theirs; /* of one event */
    uint64_t recording;                  /* under way; 0: none */
    uint64_t held;
    struct sg_shared_chunks made, joined; /* chunks that others may have */
    unsigned waits;
};

/* ---- who scribbles */

static void scribble_word(struct play *play)
{
    struct sg_node *node = play->node;
    struct sg_node_device *device = play->device;
    _Atomic uint32_t *const words[] = {
        (void *)&node->slots,
        (void *)&node->devices,
        &node->slot[0].keeper,
        &node->slot[1].keeper,
        (void *)&device->opened,
        (void *)&device->used,
        (void *)&device->key.chunks,
        (void *)&device->process[0].held,
        (void *)&device->process[0].open,
        (void *)&device->process[1].held,
        (void *)&device->process[1].open,
        &play->engine->owner,
        &play->engine->waiting,
        (void *)&play->engine->since_ns,
        (void *)&device->ledger.line.span_count,
        (void *)&device->ledger.count,
        (void *)&device->ledger.gaps,
        (void *)&device->ledger.works[0].demand.ns,
        (void *)&device->flow.count,
        (void *)&device->flow.owner_ns,
        (void *)&device->flow.works[0].left_ns,
    };
    uint64_t which = fuzz_number(&play->input, 1);
    atomic_store(words[which % (sizeof words / sizeof *words)],
                 (uint32_t)fuzz_number(&play->input, 4));
}

/* The lock gets a thread that is none: one that is there would have it for ten seconds. */
static void scribble_lock(const struct play *play)
{
    atomic_store(&play->node->lock.word, INT32_MAX >> 1);
}

static void scribble_anywhere(struct play *play)
{
    uint64_t parts[] = {offsetof(struct sg_node, device) - offsetof(struct sg_node, slots),
                        sizeof(struct sg_node_device)};
    uint8_t *bases[] = {(uint8_t *)&play->node->slots, (uint8_t *)play->device};
    uint64_t part = fuzz_number(&play->input, 1) % 2, at = fuzz_number(&play->input, 3);
    bases[part][at % parts[part]] = (uint8_t)fuzz_number(&play->input, 1);
}

/* ---- who uses it */

static void take(struct play *play)
{
    uint64_t chunks = fuzz_number(&play->input, 1);
    if (sg_node_take(play->device, chunks) == GA_OK) {
        play->held += chunks;
    }
    FUZZ_CHECK(sg_node_held(play->device) <= CHUNKS);
}

static void give(struct play *play)
{
    uint64_t chunks = fuzz_number(&play->input, 1) % (play->held + 1);
    sg_node_give(play->device, chunks);
    play->held -= chunks;
    FUZZ_CHECK(sg_node_free(play->device) <= CHUNKS - sg_node_held(play->device));
}

/* Memory that this process has made and shares is its own until it leaves it, whatever the segment
 * contains. */
static void share(struct play *play)
{
    uint32_t count = 1 + (uint32_t)fuzz_number(&play->input, 1) % 8;
    if (play->made.id != 0) {
        sg_shared_chunks_linger(play->device, &play->made);
        sg_shared_chunks_leave(play->device, &play->made);
    } else if (sg_node_take(play->device, count) == GA_OK) {
        if (sg_shared_chunks_make(play->device, count, &play->made) != GA_OK) {
            sg_node_give(play->device, count);
        }
    }
    FUZZ_CHECK(sg_node_held(play->device) == play->held + play->made.count);
}

static void share_of_another(struct play *play)
{
    if (play->joined.id != 0) {
        sg_shared_chunks_leave(play->device, &play->joined);
    } else {
        (void)!sg_shared_chunks_join(play->device, 1 + fuzz_number(&play->input, 1) % 4,
                                     1 + (uint32_t)fuzz_number(&play->input, 1), &play->joined);
    }
    FUZZ_CHECK(sg_node_free(play->device) <= CHUNKS - sg_node_held(play->device));
}

static void scribble_hold(struct play *play)
{
    struct sg_node_hold *holds = play->node->hold[fuzz_number(&play->input, 1) % 4];
    uint8_t *bytes = (uint8_t *)&holds[fuzz_number(&play->input, 1) % 4];
    bytes[fuzz_number(&play->input, 1) % sizeof *holds] = (uint8_t)fuzz_number(&play->input, 1);
    play->node->slot[fuzz_number(&play->input, 1) % 4].holds =
        (uint32_t)fuzz_number(&play->input, 4);
}

static void turn(struct play *play)
{
    static const _Atomic int never = 0, at_once = 1;
    if (!sg_turn_begin(play->engine)) {
        sg_turn_wait(play->engine, play->waits++ < WAITS_MAX ? &never : &at_once);
    }
    sg_turn_end(play->engine);
}

/* A waiting process knows of a recording by the page alone, whatever the segment contains. */
static void event(struct play *play)
{
    if (play->recording == 0) {
        play->recording = sg_event_page_record(play->mine);
    }
    FUZZ_CHECK(sg_event_page_last(play->theirs) == play->recording);
    FUZZ_CHECK(!sg_event_page_done(play->theirs, play->recording));
    if (fuzz_number(&play->input, 1) % 2 == 0) {
        sg_event_page_set_done(play->mine, play->recording);
        FUZZ_CHECK(sg_event_page_done(play->theirs, play->recording));
        play->recording = 0;
    }
}

static void work(struct play *play)
{
    const struct soft_device device = {
        .copy_engines = 2, .concurrent_kernels = true, .overlap_contexts = true};
    const struct model_demand demand = {.ns = 1 + fuzz_number(&play->input, 2),
                                        .share = {0.25, 0.5, 0.75}};
    enum gpu_engine engine = fuzz_number(&play->input, 1) % 3;
    uint64_t id = (fuzz_number(&play->input, 1) % 4) << SG_NODE_WORK_BITS | 1;
    struct model_ledger ledger;
    struct model_period period;
    uint64_t now = ga_clock_ns();
    sg_node_lock();
    (void)sg_node_work_look(play->device);
    model_ledger_copy(&ledger, &play->device->ledger, now);
    model_ledger_settle(&ledger, &device, now);
    FUZZ_CHECK(ledger.gaps == 0 && ledger.count <= MODEL_LEDGER_WORKS);
    struct model_placed *work =
        model_ledger_place(&ledger, &device, id, engine, 7, &demand, now, now, &period);
    FUZZ_CHECK(period.start_ns >= now && period.end_ns >= period.start_ns);
    if (work != NULL) {
        work->moves = id >> SG_NODE_WORK_BITS == 1;
        FUZZ_CHECK(model_ledger_find(&ledger, id) != NULL);
    }
    if (fuzz_number(&play->input, 1) % 2 == 0 && work != NULL) {
        model_ledger_take(&ledger, work);
    }
    model_ledger_write(&play->device->ledger, &ledger);
    sg_node_unlock();
}

/* On a device whose contexts take turns by slices. */
static void flowing_work(struct play *play)
{
    const struct soft_device device = {.copy_engines = 1,
                                       .concurrent_kernels = true,
                                       .context_slice_ns = 10000000,
                                       .switch_ns = 25000};
    const struct model_demand demand = {.ns = 1 + fuzz_number(&play->input, 3),
                                        .share = {0.25, 0.5, 0.75}};
    enum gpu_engine engine = fuzz_number(&play->input, 1) % 3;
    uint64_t id = 1 + fuzz_number(&play->input, 1), now = ga_clock_ns();
    struct model_flow flow;
    struct model_work ended;
    struct model_period period;
    model_flow_copy(&flow, &play->device->flow, now);
    model_flow_advance(&flow, &device, now);
    FUZZ_CHECK(flow.now_ns == now && flow.count <= MODEL_FLOW_WORKS);
    if (model_flow_add(&flow, &device, id, 1 + id % 4, engine, &demand) == GA_OK &&
        model_flow_foresee(&flow, &device, id, &period)) {
        FUZZ_CHECK(period.end_ns <= now + MODEL_FLOW_AHEAD_NS);
    }
    if (model_flow_take(&flow, fuzz_number(&play->input, 1), &ended)) {
        FUZZ_CHECK(ended.start_ns <= now && ended.end_ns <= now);
    }
    model_flow_write(&play->device->flow, &flow);
}

static void devices(struct play *play)
{
    const struct sg_node_key key = {.uuid = {9}, .chunks = 1 + fuzz_number(&play->input, 1)};
    struct sg_node_device *other;
    if (sg_node_device_open(&key, &other) == GA_OK) {
        FUZZ_CHECK(sg_node_free(other) <= key.chunks);
        if (other != play->device) {
            sg_node_device_close(other);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const steps[])(struct play *) = {scribble_word,
                                                   scribble_anywhere,
                                                   take,
                                                   give,
                                                   turn,
                                                   event,
                                                   devices,
                                                   work,
                                                   flowing_work,
                                                   share,
                                                   share_of_another,
                                                   scribble_hold};
    const struct sg_node_key key = {.uuid = {1}, .chunks = CHUNKS, .sms = 4};
    struct play play = {.input = {data, size}};
    FUZZ_CHECK(sg_node_open(SG_NODE_SELF) == GA_OK);
    FUZZ_CHECK(sg_node_device_open(&key, &play.device) == GA_OK);
    FUZZ_CHECK(sg_event_page_make(&play.mine) == GA_OK);
    FUZZ_CHECK(sg_event_page_open(sg_event_page_file(play.mine), &play.theirs) == GA_OK);
    play.node = sg_node_state.node;
    play.engine = &play.device->engines[0];
    while (play.input.left != 0) {
        uint64_t step = fuzz_number(&play.input, 1);
        if (step == 255) {
            scribble_lock(&play);
        } else {
            steps[step % (sizeof steps / sizeof *steps)](&play);
        }
    }
    sg_shared_chunks_leave(play.device, &play.joined);
    sg_shared_chunks_leave(play.device, &play.made);
    sg_event_page_drop(play.theirs);
    sg_event_page_drop(play.mine);
    sg_node_device_close(play.device);
    sg_node_close();
    return 0;
}

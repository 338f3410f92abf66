/* SPDX-License-Identifier: Apache-2.0 */
/* Four processes that share memory and events by one registry: what each is sent, and what it is
 * charged. */
#ifndef SERVER_TESTS_SHARING_PROCESSES_H
#define SERVER_TESTS_SHARING_PROCESSES_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "server/sharing/sharing_registry.h"

static struct sharing registry;

/* A process: what it was sent last. */
struct process {
    struct sharing_share share;
    struct channel_request got;
    int got_fd; /* as it was sent; still the sender's */
    unsigned count;
    bool deaf;
    uint64_t taken[2]; /* bytes that it has taken over, of each GPU */
    uint64_t passed_on;
};

static struct process one, other, third, stranger; /* who is of another tenant */

static inline enum ga_status process_told(void *user, const struct channel_request *packet, int fd)
{
    struct process *process = user;
    if (process->deaf) {
        return GA_AGAIN;
    }
    process->got = *packet;
    process->got_fd = fd;
    process->count++;
    return GA_OK;
}

static inline void process_charged(void *user, enum opened_charge change, uint32_t gpu,
                                   uint64_t bytes)
{
    struct process *process = user;
    cr_assert_lt(gpu, 2);
    cr_assert(change != OPENED_GIVEN_UP || process->taken[gpu] >= bytes);
    process->taken[gpu] += change == OPENED_TAKEN_OVER ? bytes : 0;
    process->taken[gpu] -= change == OPENED_GIVEN_UP ? bytes : 0;
    process->passed_on += change == OPENED_PASSED_ON ? bytes : 0;
}

static inline void setup(void)
{
    sharing_init(&registry);
    sharing_share_init(&one.share, 1, 0, process_told, process_charged, &one);
    sharing_share_init(&other.share, 1, 3, process_told, process_charged, &other);
    sharing_share_init(&third.share, 1, 0, process_told, process_charged, &third);
    sharing_share_init(&stranger.share, 2, 0, process_told, process_charged, &stranger);
}

static inline void teardown(void)
{
    sharing_share_end(&registry, &one.share);
    sharing_share_end(&registry, &other.share);
    sharing_share_end(&registry, &third.share);
    sharing_share_end(&registry, &stranger.share);
    cr_assert(ga_list_empty(&registry.entries));
    cr_assert(ga_list_empty(&registry.fetches));
}

static inline bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static inline int descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    return fd;
}

/* Asks, and returns the answer; nothing comes later. */
static inline const struct channel_request *ask(struct process *process,
                                                struct channel_request packet)
{
    unsigned before = process->count;
    packet.kind = CHANNEL_REQUEST;
    packet.number = 7;
    sharing_take(&registry, &process->share, &packet, -1);
    cr_assert_eq(process->count, before + 1);
    cr_assert_eq(process->got.number, 7);
    cr_assert_eq(process->got_fd, -1);
    return &process->got;
}

/* The key of new memory. */
static inline struct channel_request share(struct process *owner, uint64_t address)
{
    const struct channel_request memory = {.verb = CHANNEL_SHARE,
                                           .what = CHANNEL_MEMORY,
                                           .address = address,
                                           .bytes = 100,
                                           .offset = 5,
                                           .mapping_bytes = 4096};
    const struct channel_request *made = ask(owner, memory);
    cr_assert_eq(made->result, CUDA_SUCCESS);
    return *made;
}

static inline struct channel_request question(const struct channel_request *made, uint32_t what)
{
    struct channel_request packet = {
        .kind = CHANNEL_REQUEST, .verb = CHANNEL_OPEN, .what = what, .number = 9};
    memcpy(packet.key, made->key, sizeof packet.key);
    return packet;
}

/* Begins to open it: the owner is asked for the descriptor, with this packet. */
static inline struct channel_request begin(struct process *asker, struct process *owner,
                                           const struct channel_request *made)
{
    const struct channel_request packet = question(made, made->what);
    unsigned before = asker->count, asked = owner->count;
    sharing_take(&registry, &asker->share, &packet, -1);
    cr_assert_eq(asker->count, before, "answered without its descriptor");
    cr_assert_eq(owner->count, asked + 1);
    cr_assert_eq(owner->got.verb, CHANNEL_FETCH);
    cr_assert_eq(owner->got.seat, owner->share.seat);
    cr_assert_eq(memcmp(owner->got.key, made->key, sizeof made->key), 0);
    return owner->got;
}

static inline int32_t refused(struct process *asker, const struct channel_request *made,
                              uint32_t what)
{
    return ask(asker, question(made, what))->result;
}

#endif

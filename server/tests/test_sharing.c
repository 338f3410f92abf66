/* SPDX-License-Identifier: Apache-2.0 */
/* What applications share: gpuaasd's table, and descriptors on the channel. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "server/control/sharing.h"

static struct sharing registry;
static struct sharing_share one, other;

static void setup(void)
{
    sharing_init(&registry);
    sharing_share_init(&one, 1);
    sharing_share_init(&other, 2);
}

static void teardown(void)
{
    sharing_share_end(&one);
    sharing_share_end(&other);
    cr_assert(ga_list_empty(&registry.entries));
}

TestSuite(sharing, .init = setup, .fini = teardown);

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    return fd;
}

static int32_t share(struct sharing_share *owner, uint64_t address, int fd,
                     struct channel_request *packet)
{
    *packet = (struct channel_request){.kind = CHANNEL_REQUEST,
                                       .number = 7,
                                       .verb = CHANNEL_SHARE,
                                       .what = CHANNEL_MEMORY,
                                       .address = address,
                                       .bytes = 100,
                                       .offset = 5,
                                       .mapping_bytes = 4096};
    sharing_answer(&registry, owner, packet, &fd);
    cr_assert_eq(fd, -1);
    cr_assert_eq(packet->number, 7);
    return packet->result;
}

static int32_t get(struct sharing_share *asker, uint32_t what, const uint8_t *key,
                   struct channel_request *packet, int *fd)
{
    *packet = (struct channel_request){
        .kind = CHANNEL_REQUEST, .number = 9, .verb = CHANNEL_OPEN, .what = what};
    memcpy(packet->key, key, sizeof packet->key);
    *fd = -1;
    sharing_answer(&registry, asker, packet, fd);
    cr_assert_eq(packet->number, 9);
    return packet->result;
}

Test(sharing, who_knows_the_key_opens_it_until_its_owner_withdraws_it)
{
    struct channel_request made, again, got;
    int mine = descriptor(), second = descriptor(), fd;
    cr_assert_eq(share(&one, 1000, mine, &made), CUDA_SUCCESS);
    cr_assert_eq(share(&one, 2000, second, &again), CUDA_SUCCESS);
    cr_assert_neq(memcmp(made.key, again.key, sizeof made.key), 0);
    cr_assert_eq(get(&other, CHANNEL_MEMORY, made.key, &got, &fd), CUDA_SUCCESS);
    cr_assert_eq(fd, mine);
    cr_assert_eq(got.bytes, 100);
    cr_assert_eq(got.offset, 5);
    cr_assert_eq(got.mapping_bytes, 4096);
    cr_assert_eq(get(&one, CHANNEL_MEMORY, made.key, &got, &fd), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(fd, -1);
    cr_assert_eq(get(&other, CHANNEL_EVENT, made.key, &got, &fd), CUDA_ERROR_INVALID_HANDLE);

    struct channel_request withdraw = {
        .verb = CHANNEL_WITHDRAW, .what = CHANNEL_MEMORY, .bytes = UINT64_MAX};
    fd = -1;
    sharing_answer(&registry, &other, &withdraw, &fd);
    cr_assert(is_open(mine), "another process withdraws nothing of it");
    withdraw = (struct channel_request){
        .verb = CHANNEL_WITHDRAW, .what = CHANNEL_MEMORY, .address = 900, .bytes = 101};
    sharing_answer(&registry, &one, &withdraw, &fd);
    cr_assert_not(is_open(mine));
    cr_assert(is_open(second));
    cr_assert_eq(get(&other, CHANNEL_MEMORY, made.key, &got, &fd), CUDA_ERROR_INVALID_HANDLE);
    sharing_share_end(&one);
    cr_assert_not(is_open(second));
    cr_assert_eq(get(&other, CHANNEL_MEMORY, again.key, &got, &fd), CUDA_ERROR_INVALID_HANDLE);
}

Test(sharing, each_bit_of_a_key_counts)
{
    struct channel_request made, got;
    int fd;
    cr_assert_eq(share(&one, 1, descriptor(), &made), CUDA_SUCCESS);
    for (unsigned bit = 0; bit < 8 * sizeof made.key; bit++) {
        made.key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(get(&other, CHANNEL_MEMORY, made.key, &got, &fd), CUDA_ERROR_INVALID_HANDLE);
        made.key[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_assert_eq(get(&other, CHANNEL_MEMORY, made.key, &got, &fd), CUDA_SUCCESS);
}

Test(sharing, nonsense_is_refused_and_its_descriptor_closed)
{
    struct channel_request packet = {.verb = CHANNEL_SHARE, .what = CHANNEL_EVENT};
    int fd = descriptor(), given = fd;
    sharing_answer(&registry, &one, &packet, &fd);
    cr_assert_eq(packet.result, CUDA_ERROR_INVALID_VALUE, "an event with a descriptor");
    cr_assert_not(is_open(given));
    cr_assert_eq(share(&one, 1, -1, &packet), CUDA_ERROR_INVALID_VALUE, "memory without one");
    packet = (struct channel_request){.verb = CHANNEL_SHARE, .what = 99};
    fd = -1;
    sharing_answer(&registry, &one, &packet, &fd);
    cr_assert_eq(packet.result, CUDA_ERROR_INVALID_VALUE);
    packet = (struct channel_request){.verb = 99};
    fd = given = descriptor();
    sharing_answer(&registry, &one, &packet, &fd);
    cr_assert_eq(packet.result, CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(fd, -1);
    cr_assert_not(is_open(given));
}

Test(sharing, a_greedy_process_meets_a_bound)
{
    struct channel_request packet = {.result = 0};
    for (unsigned i = 0; i < SHARING_MAX; i++) {
        packet = (struct channel_request){.verb = CHANNEL_SHARE, .what = CHANNEL_EVENT};
        int fd = -1;
        sharing_answer(&registry, &one, &packet, &fd);
        cr_assert_eq(packet.result, CUDA_SUCCESS);
    }
    int fd = descriptor();
    cr_assert_eq(share(&one, 1, fd, &packet), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_not(is_open(fd));
    cr_assert_eq(share(&other, 1, descriptor(), &packet), CUDA_SUCCESS);
}

Test(channel, a_descriptor_travels_with_a_request_and_with_nothing_else)
{
    int ends[2], passed, given = descriptor();
    union channel_packet got;
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .number = 3};
    const struct channel_warm warm = {.kind = CHANNEL_WARM};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    cr_assert_eq(channel_send_with(ends[0], &packet, sizeof packet, given), GA_OK);
    cr_assert_eq(channel_receive_with(ends[1], &got, &passed), GA_OK);
    cr_assert_eq(got.request.number, 3);
    cr_assert(is_open(passed));
    cr_assert((fcntl(passed, F_GETFD) & FD_CLOEXEC) != 0);
    close(passed);
    cr_assert_eq(channel_send_with(ends[0], &packet, sizeof packet, -1), GA_OK);
    cr_assert_eq(channel_receive_with(ends[1], &got, &passed), GA_OK);
    cr_assert_eq(passed, -1);

    int next = descriptor(); /* what is received would get this number */
    close(next);
    cr_assert_eq(channel_send_with(ends[0], &warm, sizeof warm, given), GA_OK);
    cr_assert_eq(channel_receive_with(ends[1], &got, &passed), GA_OK);
    cr_assert_eq(passed, -1);
    cr_assert_not(is_open(next));
    cr_assert_eq(channel_send_with(ends[0], &packet, sizeof packet - 1, given), GA_OK);
    cr_assert_eq(channel_receive_with(ends[1], &got, &passed), GA_LOST, "a packet cut short");
    cr_assert_not(is_open(next));
}

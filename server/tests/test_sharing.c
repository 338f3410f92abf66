/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing between applications: gpuaasd's table, and descriptors on the channel. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "server/sharing/sharing_registry.h"
#include "server/tests/sharing_processes.h"

TestSuite(sharing, .init = setup, .fini = teardown);

Test(sharing, another_tenant_opens_nothing)
{
    const struct channel_request memory = share(&one, 1000);
    const struct channel_request event =
        *ask(&one, (struct channel_request){.verb = CHANNEL_SHARE, .what = CHANNEL_EVENT});
    unsigned asked = one.count;
    cr_assert_eq(refused(&stranger, &memory, CHANNEL_MEMORY), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(refused(&stranger, &event, CHANNEL_EVENT), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(one.count, asked, "its owner was asked");
    cr_assert_eq(refused(&other, &event, CHANNEL_EVENT), CUDA_SUCCESS);
}

Test(sharing, who_knows_the_key_opens_it_with_the_descriptor_that_its_owner_has)
{
    const struct channel_request made = share(&one, 1000), again = share(&one, 2000);
    cr_assert_neq(memcmp(made.key, again.key, sizeof made.key), 0);
    struct channel_request fetch = begin(&other, &one, &made);
    int fd = descriptor();
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &one.share, &fetch, fd);
    cr_assert_not(is_open(fd), "gpuaasd keeps none");
    cr_assert_eq(other.got_fd, fd);
    cr_assert_eq(other.got.result, CUDA_SUCCESS);
    cr_assert_eq(other.got.number, 9);
    cr_assert_eq(other.got.seat, 3);
    cr_assert_eq(other.got.verb, CHANNEL_OPEN);
    cr_assert_eq(other.got.bytes, 100);
    cr_assert_eq(other.got.offset, 5);
    cr_assert_eq(other.got.mapping_bytes, 4096);
    unsigned told = other.count;
    fd = descriptor();
    sharing_take(&registry, &one.share, &fetch, fd);
    cr_assert_eq(other.count, told, "an answer that nobody waits for");
    cr_assert_not(is_open(fd));

    cr_assert_eq(refused(&one, &made, CHANNEL_MEMORY), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(refused(&other, &made, CHANNEL_EVENT), CUDA_ERROR_INVALID_HANDLE);
}

Test(sharing, an_entry_lives_until_its_owner_withdraws_it)
{
    const struct channel_request made = share(&one, 1000), again = share(&one, 2000);
    ask(&other, (struct channel_request){
                    .verb = CHANNEL_WITHDRAW, .what = CHANNEL_MEMORY, .bytes = UINT64_MAX});
    (void)begin(&other, &one, &made); /* another process withdraws nothing of it */
    unsigned told = other.count;
    ask(&one, (struct channel_request){
                  .verb = CHANNEL_WITHDRAW, .what = CHANNEL_MEMORY, .address = 900, .bytes = 101});
    cr_assert_eq(other.count, told + 1, "who was opening it is told");
    cr_assert_eq(other.got.result, CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(other.got.number, 9);
    cr_assert_eq(refused(&other, &made, CHANNEL_MEMORY), CUDA_ERROR_INVALID_HANDLE);
    (void)begin(&other, &one, &again);
    sharing_share_end(&registry, &one.share);
    cr_assert_eq(other.got.result, CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(refused(&other, &again, CHANNEL_MEMORY), CUDA_ERROR_INVALID_HANDLE);
}

Test(sharing, an_owner_that_has_nothing_or_does_not_read_costs_who_opens_an_error)
{
    const struct channel_request made = share(&one, 1000);
    struct channel_request fetch = begin(&other, &one, &made);
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &one.share, &fetch, -1);
    cr_assert_eq(other.got.result, CUDA_ERROR_INVALID_HANDLE, "success without a descriptor");
    one.deaf = true;
    cr_assert_eq(refused(&other, &made, CHANNEL_MEMORY), CUDA_ERROR_OPERATING_SYSTEM);
    one.deaf = false;
    (void)begin(&other, &one, &made);
}

Test(sharing, nobody_answers_for_another)
{
    const struct channel_request made = share(&one, 1000);
    struct channel_request fetch = begin(&other, &one, &made);
    unsigned told = other.count;
    int fd = descriptor();
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &third.share, &fetch, fd);
    cr_assert_eq(other.count, told);
    cr_assert_not(is_open(fd));
    sharing_share_end(&registry, &other.share); /* who is gone, is told nothing */
    sharing_take(&registry, &one.share, &fetch, -1);
    cr_assert_eq(other.count, told);
}

Test(sharing, one_application_opens_one_thing_at_a_time)
{
    const struct channel_request made = share(&one, 1000);
    struct channel_request first = begin(&other, &one, &made);
    (void)begin(&other, &one, &made); /* it has given up waiting for the first */
    unsigned told = other.count;
    sharing_take(&registry, &one.share, &first, -1);
    cr_assert_eq(other.count, told);
}

Test(sharing, each_bit_of_a_key_counts)
{
    struct channel_request made = share(&one, 1);
    for (unsigned bit = 0; bit < 8 * sizeof made.key; bit++) {
        made.key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(refused(&other, &made, CHANNEL_MEMORY), CUDA_ERROR_INVALID_HANDLE);
        made.key[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    (void)begin(&other, &one, &made);
}

Test(sharing, an_event_of_a_descriptor_is_fetched_as_memory_is)
{
    const struct channel_request event = {
        .verb = CHANNEL_SHARE, .what = CHANNEL_EVENT_FILE, .address = 77, .bytes = 1};
    const struct channel_request made = *ask(&one, event);
    cr_assert_eq(refused(&stranger, &made, CHANNEL_EVENT_FILE), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(refused(&other, &made, CHANNEL_EVENT), CUDA_ERROR_INVALID_HANDLE);
    struct channel_request fetch = begin(&other, &one, &made);
    int fd = descriptor();
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &one.share, &fetch, fd);
    cr_assert_eq(other.got_fd, fd);
    cr_assert_eq(other.got.result, CUDA_SUCCESS);
    const struct channel_request gone = {
        .verb = CHANNEL_WITHDRAW, .what = CHANNEL_EVENT_FILE, .address = 77, .bytes = 1};
    cr_assert_eq(ask(&one, gone)->result, CUDA_SUCCESS);
    cr_assert_eq(refused(&other, &made, CHANNEL_EVENT_FILE), CUDA_ERROR_INVALID_HANDLE);
}

Test(sharing, an_event_needs_no_descriptor)
{
    struct channel_request event = {.verb = CHANNEL_SHARE, .what = CHANNEL_EVENT};
    memset(event.event, 77, sizeof event.event);
    const struct channel_request made = *ask(&one, event);
    const struct channel_request *got = ask(&other, question(&made, CHANNEL_EVENT));
    cr_assert_eq(got->result, CUDA_SUCCESS);
    cr_assert_eq(memcmp(got->event, event.event, sizeof event.event), 0);
}

Test(sharing, nonsense_is_refused_and_its_descriptor_closed)
{
    cr_assert_eq(ask(&one, (struct channel_request){.verb = CHANNEL_SHARE, .what = 99})->result,
                 CUDA_ERROR_INVALID_VALUE);
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .verb = 99};
    int fd = descriptor();
    sharing_take(&registry, &one.share, &packet, fd);
    cr_assert_eq(one.got.result, CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(one.got_fd, -1);
    cr_assert_not(is_open(fd));
}

Test(sharing, a_greedy_application_meets_a_bound)
{
    const struct channel_request event = {.verb = CHANNEL_SHARE, .what = CHANNEL_EVENT};
    for (unsigned i = 0; i < CHANNEL_SHARES_MAX; i++) {
        cr_assert_eq(ask(&one, event)->result, CUDA_SUCCESS);
    }
    cr_assert_eq(ask(&one, event)->result, CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(ask(&other, event)->result, CUDA_SUCCESS);
}

Test(channel, a_descriptor_travels_with_a_request_and_with_nothing_else)
{
    int ends[2], passed, given = descriptor();
    union channel_packet got;
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .number = 3};
    const struct channel_bare warm = {.kind = CHANNEL_WARM};
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

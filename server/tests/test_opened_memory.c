/* SPDX-License-Identifier: Apache-2.0 */
/* Whom memory is charged to that applications let each other use. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/sharing/sharing_registry.h"
#include "server/tests/sharing_processes.h"

TestSuite(opened_memory, .init = setup, .fini = teardown);

#define PAGE UINT64_C(4096)

/* The number of the opening. */
static uint64_t opened(struct process *asker, struct process *owner,
                       const struct channel_request *made)
{
    struct channel_request fetch = begin(asker, owner, made);
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &owner->share, &fetch, descriptor());
    cr_assert_eq(asker->got.result, CUDA_SUCCESS);
    cr_assert_neq(asker->got.opening, 0);
    return asker->got.opening;
}

static void close_opening(struct process *process, uint64_t opening)
{
    const struct channel_request packet = {.verb = CHANNEL_CLOSE, .opening = opening};
    cr_assert_eq(ask(process, packet)->result, CUDA_SUCCESS);
}

/* Frees the mapping at `at`: how much of it is charged to others. */
static uint64_t freed(struct process *process, uint32_t what, uint64_t at)
{
    return ask(process, (struct channel_request){.verb = CHANNEL_WITHDRAW,
                                                 .what = what,
                                                 .address = at,
                                                 .bytes = what == CHANNEL_MEMORY ? PAGE : 1,
                                                 .mapping_bytes = PAGE})
        ->mapping_bytes;
}

static void expect_taken(uint64_t by_other, uint64_t by_third)
{
    cr_assert_eq(other.taken[0], by_other, "%llu", (unsigned long long)other.taken[0]);
    cr_assert_eq(third.taken[0], by_third, "%llu", (unsigned long long)third.taken[0]);
    cr_assert_eq(one.taken[0], 0);
}

Test(opened_memory, memory_is_charged_to_its_maker_then_to_who_has_opened_it_first)
{
    const struct channel_request made = share(&one, 1005);
    uint64_t first = opened(&other, &one, &made);
    (void)opened(&third, &one, &made);
    uint64_t again = opened(&other, &one, &made);
    expect_taken(0, 0);
    cr_assert_eq(freed(&one, CHANNEL_MEMORY, 1000), PAGE);
    cr_assert_eq(one.passed_on, PAGE);
    expect_taken(PAGE, 0);
    close_opening(&other, first);
    expect_taken(0, PAGE); /* the third one has opened it before the other did again */
    close_opening(&other, first);
    close_opening(&third, 99); /* nonsense */
    expect_taken(0, PAGE);
    sharing_share_end(&registry, &third.share);
    expect_taken(PAGE, 0);
    close_opening(&other, again);
    expect_taken(0, 0);
    cr_assert_eq(freed(&one, CHANNEL_MEMORY, 1000), 0, "it is another one there now");
    cr_assert_eq(one.passed_on, PAGE);
}

Test(opened_memory, memory_that_nobody_else_has_goes_back_to_its_maker)
{
    const struct channel_request made = share(&one, 1005);
    close_opening(&other, opened(&other, &one, &made));
    cr_assert_eq(freed(&one, CHANNEL_MEMORY, 1000), 0);
    (void)share(&one, 9005);
    cr_assert_eq(freed(&one, CHANNEL_MEMORY, 9000), 0);
    expect_taken(0, 0);
    cr_assert_eq(one.passed_on, 0);
}

/* An allocation that is withdrawn lies in memory that its maker keeps. */
Test(opened_memory, allocations_of_one_mapping_are_charged_once)
{
    const struct channel_request made = share(&one, 1005);
    struct channel_request more = {.verb = CHANNEL_SHARE,
                                   .what = CHANNEL_MEMORY,
                                   .address = 1500,
                                   .bytes = 10,
                                   .offset = 500,
                                   .mapping_bytes = PAGE};
    more = *ask(&one, more);
    (void)opened(&other, &one, &made);
    (void)opened(&third, &one, &more);
    const struct channel_request withdrawn = {
        .verb = CHANNEL_WITHDRAW, .what = CHANNEL_MEMORY, .address = 1005, .bytes = 1};
    cr_assert_eq(ask(&one, withdrawn)->mapping_bytes, 0);
    expect_taken(0, 0);
    sharing_share_close(&registry, &one.share); /* its process is dying, and still has it */
    expect_taken(0, 0);
    sharing_share_end(&registry, &one.share);
    expect_taken(PAGE, 0);
    cr_assert_eq(one.passed_on, 0);
    sharing_share_end(&registry, &other.share);
    expect_taken(0, PAGE);
}

Test(opened_memory, memory_that_is_shared_again_is_the_same)
{
    struct channel_request physical = {
        .verb = CHANNEL_SHARE, .what = CHANNEL_PHYSICAL, .address = 77, .bytes = PAGE};
    const struct channel_request made = *ask(&one, physical);
    physical.opening = opened(&other, &one, &made);
    const struct channel_request again = *ask(&other, physical);
    cr_assert_eq(again.result, CUDA_SUCCESS);
    (void)opened(&third, &other, &again);
    cr_assert_eq(freed(&other, CHANNEL_PHYSICAL, 77), 0, "it has not made it");
    close_opening(&other, physical.opening);
    expect_taken(0, 0);
    cr_assert_eq(freed(&one, CHANNEL_PHYSICAL, 77), PAGE);
    expect_taken(0, PAGE);
    cr_assert_neq(ask(&other, physical)->result, CUDA_SUCCESS, "it has it open no more");
}

Test(opened_memory, who_does_not_hear_that_it_has_opened_something_has_not)
{
    const struct channel_request made = share(&one, 1005);
    struct channel_request fetch = begin(&other, &one, &made);
    fetch.result = CUDA_SUCCESS;
    other.deaf = true;
    sharing_take(&registry, &one.share, &fetch, descriptor());
    other.deaf = false;
    cr_assert_eq(freed(&one, CHANNEL_MEMORY, 1000), 0);
    expect_taken(0, 0);
    struct channel_request huge = {.verb = CHANNEL_SHARE,
                                   .what = CHANNEL_MEMORY,
                                   .bytes = 1,
                                   .mapping_bytes = CHANNEL_BOUNDLESS + 1};
    cr_assert_neq(ask(&one, huge)->result, CUDA_SUCCESS);
}

Test(opened_memory, what_an_application_has_opened_has_a_bound)
{
    const struct channel_request made = share(&one, 1005);
    uint64_t last = 0;
    for (unsigned i = 0; i < CHANNEL_OPENINGS_MAX; i++) {
        last = opened(&other, &one, &made);
    }
    struct channel_request fetch = begin(&other, &one, &made);
    fetch.result = CUDA_SUCCESS;
    sharing_take(&registry, &one.share, &fetch, descriptor());
    cr_assert_eq(other.got.result, CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(other.got_fd, -1);
    close_opening(&other, last);
    (void)opened(&other, &one, &made);
}

/* Against a model: all that anybody has, and its maker has not, is charged to one who has it. */
#define MAPPINGS 6u
#define OPENS    4u

static struct mapping {
    struct channel_request made; /* verb 0: its maker does not have it */
    uint64_t openings[2][OPENS];
} mappings[MAPPINGS];

static uint64_t below(uint64_t most)
{
    static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % most;
}

static void step(void)
{
    struct process *const openers[] = {&other, &third};
    unsigned at = (unsigned)below(MAPPINGS), by = (unsigned)below(2);
    struct mapping *mapping = &mappings[at];
    uint64_t *opening = &mapping->openings[by][below(OPENS)];
    bool held = false;
    for (unsigned i = 0; i < 2 * OPENS; i++) {
        held = held || mapping->openings[i / OPENS][i % OPENS] != 0;
    }
    if (*opening != 0) {
        close_opening(openers[by], *opening);
        *opening = 0;
    } else if (mapping->made.verb != 0 && below(3) == 0) {
        cr_assert_eq(freed(&one, CHANNEL_MEMORY, at * PAGE), held ? PAGE : 0);
        mapping->made.verb = 0;
    } else if (mapping->made.verb != 0) {
        *opening = opened(openers[by], &one, &mapping->made);
    } else if (!held) {
        mapping->made = share(&one, at * PAGE + 5);
    }
}

static void expect_model(void)
{
    uint64_t due = 0;
    for (unsigned i = 0; i < MAPPINGS; i++) {
        bool held = false;
        for (unsigned j = 0; j < 2 * OPENS; j++) {
            held = held || mappings[i].openings[j / OPENS][j % OPENS] != 0;
        }
        due += held && mappings[i].made.verb == 0 ? PAGE : 0;
    }
    cr_assert_eq(one.taken[0], 0);
    cr_assert_eq(other.taken[0] + third.taken[0], due);
}

Test(opened_memory, nothing_is_charged_twice_and_nothing_is_forgotten)
{
    for (unsigned i = 0; i < 20000; i++) {
        step();
        expect_model();
    }
    sharing_share_end(&registry, &one.share);
    for (unsigned i = 0; i < MAPPINGS; i++) {
        mappings[i].made.verb = 0;
    }
    expect_model();
    sharing_share_end(&registry, &other.share);
    for (unsigned i = 0; i < MAPPINGS; i++) {
        memset(mappings[i].openings[0], 0, sizeof mappings[i].openings[0]);
    }
    expect_model();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Whom pending connections make room for, and whose step is next. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/pending.h"

#define PENDING_MAX 8u

static struct pending_table table;
static struct pending_entry entries[2 * PENDING_MAX];
static uint64_t now_ns;

static void start(void)
{
    cr_assert_eq(pending_table_init(&table, PENDING_MAX), GA_OK);
}

static void stop(void)
{
    for (unsigned i = 0; i < 2 * PENDING_MAX; i++) {
        pending_table_remove(&table, &entries[i]);
    }
    cr_expect_eq(table.count, 0);
    cr_expect_eq(table.source_count, 0);
    cr_expect_null(pending_table_victim(&table));
    pending_table_fini(&table);
}

TestSuite(pending, .init = start, .fini = stop);

/* Entry `i` comes from this source. */
static void come(unsigned i, uint32_t from)
{
    uint8_t source[TRANSPORT_SOURCE_BYTES] = {0};
    memcpy(source + 12, &from, sizeof from);
    cr_assert_eq(pending_table_add(&table, &entries[i], source, ++now_ns), GA_OK);
}

/* Which entry goes, as there is one too many. */
static unsigned drop(void)
{
    cr_assert(pending_table_is_over(&table));
    struct pending_entry *victim = pending_table_victim(&table);
    cr_assert_not_null(victim);
    pending_table_remove(&table, victim);
    return (unsigned)(victim - entries);
}

Test(pending, of_one_source_the_first_to_come_is_the_first_to_go)
{
    for (unsigned i = 0; i < PENDING_MAX; i++) {
        come(i, 1);
    }
    cr_assert_not(pending_table_is_over(&table), "so many may be");
    for (unsigned i = 0; i < PENDING_MAX; i++) {
        come(PENDING_MAX + i, 1);
        cr_expect_eq(drop(), i);
    }
}

Test(pending, the_source_that_has_most_makes_room)
{
    come(0, 2);
    for (unsigned i = 1; i < PENDING_MAX; i++) {
        come(i, 1);
    }
    come(PENDING_MAX, 2);
    cr_expect_eq(drop(), 1, "the oldest of the many, not the oldest of all");
    come(PENDING_MAX + 1, 1);
    cr_expect_eq(drop(), 2, "also if one of the many comes");
    come(PENDING_MAX + 2, 3);
    cr_expect_eq(drop(), 3);
    cr_expect_eq(table.source_count, 3);
}

Test(pending, of_the_silent_and_the_others_the_more_numerous_make_room)
{
    come(0, 1);
    pending_entry_heard(&entries[0]); /* it is about to say who it is */
    for (unsigned i = 1; i < PENDING_MAX; i++) {
        come(i, 1);
    }
    for (unsigned i = 1; i < PENDING_MAX; i++) {
        come(PENDING_MAX + i, 1);
        cr_expect_eq(drop(), i, "not the first one");
    }
    for (unsigned i = 1; i < PENDING_MAX; i++) {
        pending_entry_heard(&entries[PENDING_MAX + i]);
    }
    pending_entry_heard(&entries[0]); /* a second byte makes it no younger */
    come(1, 1);
    cr_expect_eq(drop(), 0, "not the only one that has said nothing yet");
}

Test(pending, sources_with_one_each_go_in_their_order)
{
    for (unsigned i = 0; i <= PENDING_MAX; i++) {
        come(i, i);
    }
    cr_expect_eq(drop(), 0);
    pending_table_remove(&table, &entries[1]); /* it has greeted */
    come(PENDING_MAX + 1, 100);
    cr_assert_not(pending_table_is_over(&table));
    come(PENDING_MAX + 2, 2); /* two of this source */
    cr_expect_eq(drop(), 2);
}

Test(pending, the_oldest_is_the_next_whose_time_is_up)
{
    come(0, 1);
    come(1, 2);
    come(2, 1);
    cr_expect_eq(pending_table_oldest(&table), &entries[0]);
    pending_table_remove(&table, &entries[0]);
    pending_table_remove(&table, &entries[0]); /* no more than once */
    cr_expect_eq(pending_table_oldest(&table), &entries[1]);
    cr_expect_eq(pending_table_oldest(&table)->since_ns + 1, now_ns);
}

static int next_step(void)
{
    const struct pending_entry *entry = pending_table_next_step(&table, false);
    return entry != NULL ? (int)(entry - entries) : -1;
}

Test(pending, sources_take_turns_with_their_steps)
{
    for (unsigned i = 0; i < 5; i++) {
        come(i, i < 3 ? 1 : 2);
        pending_table_want_step(&table, &entries[i]);
    }
    cr_expect_eq(next_step(), 2);
    cr_expect_eq(next_step(), 4);
    cr_expect_eq(next_step(), 1);
    pending_table_remove(&table, &entries[3]); /* it has gone */
    cr_expect_eq(next_step(), 0);
    cr_expect_eq(next_step(), -1);
    pending_table_want_step(&table, &entries[1]);
    pending_table_want_step(&table, &entries[1]);
    cr_expect_eq(next_step(), 1);
    cr_expect_eq(next_step(), -1, "once");
}

Test(pending, slow_steps_wait_apart)
{
    for (unsigned i = 0; i < 4; i++) {
        come(i, i < 3 ? 1 : 2);
        entries[i].is_slow = i != 1;
        pending_table_want_step(&table, &entries[i]);
    }
    cr_expect_eq(next_step(), 1);
    cr_expect_eq(next_step(), -1);
    cr_expect_eq(pending_table_next_step(&table, true), &entries[2]);
    pending_table_remove(&table, &entries[3]); /* it has gone */
    cr_expect(pending_table_has_slow(&table));
    cr_expect_eq(pending_table_next_step(&table, true), &entries[0]);
    cr_expect_not(pending_table_has_slow(&table));
    pending_table_want_step(&table, &entries[0]); /* it has had its slow one */
    cr_expect_eq(next_step(), 0);
}

/* Three of four turns, so that the others get on, too; and nothing is gained by asking twice. */
Test(pending, steps_that_have_begun_go_first)
{
    for (unsigned i = 0; i < 8; i++) {
        come(i, i);
        entries[i].begun = i >= 4;
        pending_table_want_step(&table, &entries[i]);
    }
    pending_table_want_step(&table, &entries[4]);
    static const int due[] = {4, 5, 6, 0, 7, 1, 2, 3, -1};
    for (unsigned i = 0; i < sizeof due / sizeof *due; i++) {
        cr_expect_eq(next_step(), due[i], "at %u", i);
    }
    pending_table_want_step(&table, &entries[0]);
    entries[0].begun = true; /* while it waits */
    pending_table_want_step(&table, &entries[1]);
    pending_table_want_step(&table, &entries[0]);
    cr_expect_eq(next_step(), 0);
    cr_expect_eq(next_step(), 1);
    cr_expect_eq(next_step(), -1);
}

/* Against a plain search, with many sources that come and go. */
Test(pending, it_always_finds_who_has_most)
{
    enum { SOURCES = 5, ROUNDS = 20000 };
    unsigned from[2 * PENDING_MAX], has[SOURCES] = {0};
    bool here[2 * PENDING_MAX] = {false};
    srand(7);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)rand() % (2 * PENDING_MAX);
        if (here[i]) {
            pending_table_remove(&table, &entries[i]);
            here[i] = false;
            has[from[i]]--;
            continue;
        }
        from[i] = (unsigned)rand() % SOURCES;
        come(i, from[i]);
        here[i] = true;
        has[from[i]]++;
        if (pending_table_is_over(&table)) {
            unsigned gone = drop(), most = 0;
            for (unsigned n = 0; n < SOURCES; n++) {
                most = has[n] > most ? has[n] : most;
            }
            cr_assert_eq(has[from[gone]], most);
            for (unsigned n = 0; n < 2 * PENDING_MAX; n++) {
                cr_assert(!here[n] || from[n] != from[gone] ||
                          entries[n].since_ns >= entries[gone].since_ns);
            }
            here[gone] = false;
            has[from[gone]]--;
        }
    }
}

Test(pending, it_is_never_the_one_that_has_just_come)
{
    enum { SOURCES = 12, ROUNDS = 20000 };
    bool here[2 * PENDING_MAX] = {false};
    srand(8);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)rand() % (2 * PENDING_MAX);
        if (here[i] && rand() % 4 != 0) {
            pending_entry_heard(&entries[i]);
        } else if (here[i]) {
            pending_table_remove(&table, &entries[i]);
            here[i] = false;
        } else {
            come(i, (uint32_t)rand() % SOURCES);
            here[i] = true;
            if (pending_table_is_over(&table)) {
                unsigned gone = drop();
                cr_assert_neq(gone, i);
                here[gone] = false;
            }
        }
    }
}

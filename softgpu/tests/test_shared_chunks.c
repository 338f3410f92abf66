/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that several processes use count once for as long as any of these processes has them,
 * whichever of them gives its hold up or is killed first, and at any instant. */
#include <criterion/criterion.h>

#include "softgpu/node/node_internal.h"
#include "softgpu/node/shared_chunks.h"
#include "softgpu/tests/node_fixture.h"

#define ID UINT64_C(77)

static struct sg_shared_chunks shared;

/* With an id that the test knows. */
static void make(uint32_t count)
{
    if (sg_node_take(device, count) != GA_OK ||
        sg_shared_chunks_make(device, count, &shared) != GA_OK) {
        abort();
    }
    sg_node_state.node->hold[sg_node_self()][shared.place].id = shared.id = ID;
}

static void make_forty(int in, int out)
{
    make(40);
    tell(out);
    hear(in);
    sg_shared_chunks_leave(device, &shared);
    tell(out);
    pause();
}

static void join_forty(int in, int out)
{
    if (sg_shared_chunks_join(device, ID, 40, &shared) != GA_OK) {
        abort();
    }
    tell(out);
    hear(in);
    sg_shared_chunks_leave(device, &shared);
    tell(out);
    pause();
}

static struct other other_begin(void (*work)(int in, int out))
{
    struct other other = other_start(work);
    hear(other.out);
    return other;
}

static void other_leave(struct other *other)
{
    tell(other->in);
    hear(other->out);
}

static void expect_free(uint64_t chunks, const char *when)
{
    cr_assert_eq(sg_node_free(device), chunks, "%s: %llu are free, not %llu", when,
                 (unsigned long long)sg_node_free(device), (unsigned long long)chunks);
    cr_assert_eq(sg_node_take(device, chunks + 1), GA_NO_MEMORY, "%s", when);
    cr_assert_eq(sg_node_take(device, chunks), GA_OK, "%s", when);
    sg_node_give(device, chunks);
}

/* A maker and two that have joined; all orders of their ends, each by its own will or killed. */
Test(shared_chunks, they_count_until_the_last_one_ends, .init = setup, .timeout = 60)
{
    join();
    for (unsigned first = 0; first < 3; first++) {
        for (unsigned how = 0; how < 16; how++) {
            struct other others[3] = {other_begin(make_forty), other_begin(join_forty),
                                      other_begin(join_forty)};
            expect_free(CHUNKS - 40, "all have it");
            bool backwards = (how & 8) != 0;
            for (unsigned i = 0; i < 3; i++) {
                unsigned who = (first + (backwards ? 3 - i : i)) % 3;
                if ((how >> i & 1) == 0) {
                    other_leave(&others[who]);
                }
                other_kill(&others[who]);
                expect_free(i < 2 ? CHUNKS - 40 : CHUNKS, i < 2 ? "some have it" : "nobody has it");
            }
        }
    }
}

Test(shared_chunks, a_process_may_join_twice, .init = setup)
{
    struct sg_shared_chunks again;
    struct other maker = other_begin(make_forty);
    join();
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &shared), GA_OK);
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &again), GA_OK);
    other_kill(&maker);
    expect_free(CHUNKS - 40, "twice");
    cr_assert_eq(sg_node_held(device), 0, "they are not this process's own");
    sg_shared_chunks_leave(device, &shared);
    sg_shared_chunks_leave(device, &shared);
    expect_free(CHUNKS - 40, "once");
    sg_shared_chunks_leave(device, &again);
    expect_free(CHUNKS, "no more");
}

/* A descriptor on its way holds nothing on the node when its maker is dead. */
Test(shared_chunks, what_nobody_has_is_taken_of_what_is_free, .init = setup)
{
    join();
    cr_assert_eq(sg_node_take(device, 70), GA_OK);
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &shared), GA_NO_MEMORY);
    sg_node_give(device, 10);
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &shared), GA_OK);
    expect_free(0, "all is taken");
    sg_shared_chunks_leave(device, &shared);
    expect_free(40, "it is given back");
    cr_assert_eq(sg_shared_chunks_join(device, 0, 1, &shared), GA_NO_MEMORY, "no id");
}

Test(shared_chunks, its_maker_holds_it_and_gives_it_back, .init = setup)
{
    join();
    make(30);
    cr_assert_eq(sg_node_held(device), 30);
    expect_free(CHUNKS - 30, "it is made");
    sg_shared_chunks_leave(device, &shared);
    cr_assert_eq(sg_node_held(device), 0);
    expect_free(CHUNKS, "it is given back");
}

static void make_and_linger(int in, int out)
{
    make(40);
    tell(out);
    hear(in);
    sg_shared_chunks_linger(device, &shared);
    tell(out);
    hear(in);
    sg_shared_chunks_leave(device, &shared);
    tell(out);
    pause();
}

/* Its maker may do nothing for ever: who closes it gives it back all the same. */
Test(shared_chunks, what_its_maker_has_freed_is_others, .init = setup)
{
    join();
    for (unsigned late = 0; late < 2; late++) { /* whether it is opened after that */
        struct other maker = other_begin(make_and_linger);
        cr_assert(late || sg_shared_chunks_join(device, ID, 40, &shared) == GA_OK);
        other_leave(&maker);
        expect_free(CHUNKS - 40, "it lingers");
        cr_assert(!late || sg_shared_chunks_join(device, ID, 40, &shared) == GA_OK);
        expect_free(CHUNKS - 40, "it is opened");
        sg_shared_chunks_leave(device, &shared);
        expect_free(CHUNKS, "it is closed");
        other_leave(&maker);
        expect_free(CHUNKS, "its maker sees that");
        other_kill(&maker);
        expect_free(CHUNKS, "and goes");
    }
}

Test(shared_chunks, what_nobody_opens_lingers_with_its_maker, .init = setup)
{
    struct other maker = other_begin(make_and_linger);
    join();
    other_leave(&maker);
    expect_free(CHUNKS - 40, "it lingers");
    other_leave(&maker);
    expect_free(CHUNKS, "its maker has seen that nobody has a descriptor");
    other_kill(&maker);
}

/* Between the two steps of passing it on. */
static void die_while_passing(int in, int out)
{
    struct sg_node_hold *joined = &sg_node_state.node->hold[sg_node_self()][1];
    (void)in;
    make(40);
    if (sg_shared_chunks_join(device, ID, 40, &shared) != GA_OK) {
        abort();
    }
    sg_node_lock();
    joined->counts = 1;
    tell(out);
    pause();
}

Test(shared_chunks, killed_while_it_passes_it_on, .init = setup)
{
    struct other other = other_begin(die_while_passing);
    other_kill(&other);
    join();
    expect_free(CHUNKS, "it is gone");
}

static void make_more(int in, int out)
{
    if (sg_node_take(device, 10) != GA_OK) {
        abort();
    }
    make_forty(in, out);
}

static void reap_half(int in, int out)
{
    hear(in);
    sg_node_lock();
    sg_shared_chunks_reap(sg_node_state.node, device, sg_node_self() == 0 ? 1 : 0);
    tell(out);
    pause();
}

Test(shared_chunks, killed_while_it_takes_back_what_a_dead_one_had, .init = setup)
{
    struct other maker = other_begin(make_more), reaper = other_start(reap_half);
    join();
    cr_assert_eq(sg_node_free(device), CHUNKS - 50);
    other_kill(&maker);
    tell(reaper.in);
    hear(reaper.out);
    other_kill(&reaper);
    expect_free(CHUNKS, "it is gone");
}

Test(shared_chunks, a_process_has_so_many, .init = setup)
{
    static struct sg_shared_chunks many[SG_NODE_HOLDS];
    struct sg_shared_chunks more;
    struct other maker = other_begin(make_forty);
    join();
    for (unsigned i = 0; i < SG_NODE_HOLDS; i++) {
        cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &many[i]), GA_OK);
    }
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &more), GA_NO_MEMORY);
    cr_assert_eq(sg_shared_chunks_make(device, 0, &more), GA_NO_MEMORY);
    sg_shared_chunks_leave(device, &many[5]);
    cr_assert_eq(sg_shared_chunks_join(device, ID, 40, &more), GA_OK, "another place is free");
    other_kill(&maker);
    expect_free(CHUNKS - 40, "many hold it");
    for (unsigned i = 0; i < SG_NODE_HOLDS; i++) {
        sg_shared_chunks_leave(device, &many[i]);
    }
    expect_free(CHUNKS - 40, "one holds it");
    sg_shared_chunks_leave(device, &more);
    expect_free(CHUNKS, "nobody does");
    cr_assert_eq(sg_node_state.node->slot[sg_node_self()].holds, 0);
}

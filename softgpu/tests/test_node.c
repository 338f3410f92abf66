/* SPDX-License-Identifier: Apache-2.0 */
/* The state that processes share of a device, and that nothing remains of a killed process: it
 * holds memory, the lock, the turn, is in the queue for the turn, or is stopped. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "softgpu/node/node.h"
#include "softgpu/node/node_segment.h"
#include "softgpu/node/time_slices.h"
#include "softgpu/tests/node_fixture.h"

static const _Atomic int never;

static void hold_forty(int in, int out)
{
    if (sg_node_take(device, 40) != GA_OK) {
        abort();
    }
    tell(out);
    hear(in);
    sg_node_give(device, 10);
    tell(out);
    pause();
}

Test(node, memory_is_that_of_all_and_free_when_its_holder_is_killed, .init = setup)
{
    struct other other = other_start(hold_forty);
    hear(other.out);
    join();
    cr_assert_eq(sg_node_free(device), 60);
    cr_assert_eq(sg_node_take(device, 61), GA_NO_MEMORY);
    tell(other.in);
    hear(other.out);
    cr_assert_eq(sg_node_take(device, 61), GA_OK);
    cr_assert_eq(sg_node_free(device), 9);
    other_kill(&other);
    cr_assert_eq(sg_node_take(device, 39), GA_OK,
                 "what the dead one held is found by who needs it");
    cr_assert_eq(sg_node_free(device), 0);
    sg_node_give(device, 100);
    cr_assert_eq(sg_node_free(device), CHUNKS);
}

static void take_all(int in, int out)
{
    unsigned char taken = 0;
    hear(in);
    while (sg_node_take(device, 1) == GA_OK) {
        taken++;
    }
    (void)!write(out, &taken, 1);
    pause();
}

Test(node, eight_processes_take_all_there_is_and_no_more, .init = setup)
{
    struct other others[8];
    unsigned sum = 0;
    for (int i = 0; i < 8; i++) {
        others[i] = other_start(take_all);
    }
    for (int i = 0; i < 8; i++) {
        tell(others[i].in);
    }
    for (int i = 0; i < 8; i++) {
        unsigned char taken;
        cr_assert_eq(read(others[i].out, &taken, 1), 1);
        sum += taken;
    }
    cr_assert_eq(sum, CHUNKS);
    join();
    cr_assert_eq(sg_node_free(device), 0);
    for (int i = 0; i < 8; i++) {
        other_kill(&others[i]);
    }
    cr_assert_eq(sg_node_free(device), CHUNKS);
}

/* In the middle of taking 40 chunks. */
static void die_in_the_lock(int in, int out)
{
    (void)in;
    sg_node_lock();
    device->process[sg_node_self()].held += 40;
    tell(out);
    pause();
}

Test(node, killed_within_the_lock, .init = setup)
{
    struct other other = other_start(die_in_the_lock);
    hear(other.out);
    other_kill(&other);
    join();
    cr_assert_eq(sg_node_free(device), CHUNKS);
}

static void stop_in_the_lock(int in, int out)
{
    sg_node_lock();
    raise(SIGSTOP);
    sg_node_unlock();
    tell(out);
    hear(in);
}

Test(node, stopped_within_the_lock, .init = setup, .timeout = 60)
{
    int status;
    struct other other = other_start(stop_in_the_lock);
    cr_assert_eq(waitpid(other.pid, &status, WUNTRACED), other.pid);
    cr_assert(WIFSTOPPED(status));
    join();
    cr_assert_eq(sg_node_free(device), CHUNKS);
    cr_assert_eq(waitpid(other.pid, &status, WUNTRACED), other.pid);
    cr_assert(WIFSTOPPED(status), "it is stopped again");
    kill(other.pid, SIGCONT);
    hear(other.out);
    other_kill(&other);
}

static void hold_the_turn(int in, int out)
{
    if (!sg_turn_begin(engine)) {
        abort();
    }
    tell(out);
    hear(in);
    sg_turn_end(engine);
    tell(out);
    pause();
}

Test(node, a_turn_ends_when_its_holder_says_so, .init = setup)
{
    struct other other = other_start(hold_the_turn);
    hear(other.out);
    join();
    cr_assert_not(sg_turn_begin(engine));
    tell(other.in);
    hear(other.out);
    cr_assert(sg_turn_begin(engine), "nobody has it or wants it");
    cr_assert(sg_turn_begin(engine), "of a process as often as it likes");
    sg_turn_end(engine);
    cr_assert_eq(atomic_load(&engine->owner), 0);
    other_kill(&other);
}

Test(node, a_turn_ends_with_its_holder_killed_or_stopped, .init = setup, .timeout = 60)
{
    for (int signal = SIGKILL; signal != 0; signal = signal == SIGKILL ? SIGSTOP : 0) {
        struct other other = other_start(hold_the_turn);
        hear(other.out);
        join();
        kill(other.pid, signal);
        cr_assert_not(sg_turn_begin(engine));
        sg_turn_wait(engine, &never);
        cr_assert_eq(atomic_load(&engine->owner), sg_node_self() + 1);
        cr_assert_eq(atomic_load(&engine->waiting), 0);
        sg_turn_end(engine);
        sg_node_close();
        other_kill(&other);
    }
}

/* Counts its turns, like a kernel that gives way. */
static void take_turns(int in, int out)
{
    (void)in;
    for (;;) {
        if (!sg_turn_begin(engine)) {
            sg_turn_wait(engine, &never);
        }
        for (int i = 0; i < 3; i++) {
            uint64_t until = ga_clock_ns() + GA_NS_PER_MS;
            while (ga_clock_ns() < until) {
            }
            if (atomic_load(&engine->waiting) != 0) {
                sg_turn_wait(engine, &never);
            }
        }
        tell(out);
    }
}

Test(node, everybody_in_line_has_turns_whoever_is_killed, .init = setup, .timeout = 60)
{
    struct other others[4];
    for (int i = 0; i < 4; i++) {
        others[i] = other_start(take_turns);
    }
    for (int killed = 0; killed < 4; killed++) {
        for (int i = killed; i < 4; i++) {
            for (int turn = 0; turn < 5; turn++) {
                hear(others[i].out);
            }
        }
        other_kill(&others[killed]);
    }
    join();
    if (!sg_turn_begin(engine)) {
        sg_turn_wait(engine, &never);
    }
    cr_assert_eq(atomic_load(&engine->owner), sg_node_self() + 1);
}

Test(node, who_waits_stops_when_told_and_leaves_the_line, .init = setup)
{
    struct other other = other_start(hold_the_turn);
    hear(other.out);
    join();
    const _Atomic int stop = 1;
    cr_assert_not(sg_turn_begin(engine));
    sg_turn_wait(engine, &stop);
    sg_turn_end(engine);
    cr_assert_eq(atomic_load(&engine->waiting), 0);
    cr_assert_neq(atomic_load(&engine->owner), sg_node_self() + 1);
    other_kill(&other);
}

static void *stay(void *data)
{
    uint32_t self = (uint32_t)gettid();
    if (write(*(const int *)data, &self, sizeof self) != (ssize_t)sizeof self) {
        abort();
    }
    pause();
    return NULL;
}

Test(node, who_finds_no_place_is_told, .init = setup)
{
    int pipes[2];
    uint32_t thread;
    pthread_t stays;
    const char *why;
    struct sg_node *node;
    cr_assert_eq(pipe(pipes), 0);
    cr_assert_eq(pthread_create(&stays, NULL, stay, &pipes[1]), 0);
    cr_assert_eq(read(pipes[0], &thread, sizeof thread), sizeof thread);
    cr_assert_eq(sg_node_attach(name, &node, &why), GA_OK, "%s", why);
    for (unsigned i = 0; i < SG_NODE_PROCESSES; i++) {
        atomic_store(&node->slot[i].keeper, thread);
    }
    node->slots = SG_NODE_PROCESSES;
    cr_assert_eq(sg_node_open(name), GA_NO_MEMORY);
    atomic_store(&node->slot[77].keeper, INT32_MAX); /* a thread that has never been */
    join();
    cr_assert_eq(sg_node_self(), 77);
    sg_node_close();
    node->slot[77].born = 0; /* not known */
    atomic_store(&node->slot[77].keeper, thread);
    node->slot[78].born = 1; /* another thread had that number when the slot was taken */
    join();
    cr_assert_eq(sg_node_self(), 78);
    sg_node_detach(node);
}

Test(node, devices_described_otherwise_are_others)
{
    snprintf(name, sizeof name, "%s", SG_NODE_SELF);
    join();
    struct sg_node_key key = device->key;
    struct sg_node_device *again, *other;
    cr_assert_eq(sg_node_device_open(&key, &again), GA_OK);
    cr_assert_eq(again, device);
    key.chunks--;
    cr_assert_eq(sg_node_device_open(&key, &other), GA_OK);
    cr_assert_neq(other, device);
    cr_assert_eq(sg_node_free(other), CHUNKS - 1);
    uint64_t id = sg_node_id();
    sg_node_close();
    join();
    cr_assert_neq(sg_node_id(), id, "nobody joins this one");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes find each other's state: those of one user that name the same node, whatever
 * other users of the machine do, and whoever is killed meanwhile. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/node/node.h"
#include "softgpu/node/node_segment.h"
#include "softgpu/tests/node_fixture.h"

static void say_id(int in, int out)
{
    (void)in;
    uint64_t id = sg_node_id();
    (void)!write(out, &id, sizeof id);
    pause();
}

Test(node_segment, lives_as_long_as_somebody_uses_it, .init = setup)
{
    struct other first = other_start(say_id), second = other_start(say_id);
    uint64_t ids[2] = {0, 1};
    cr_assert_eq(read(first.out, &ids[0], sizeof ids[0]), sizeof ids[0]);
    cr_assert_eq(read(second.out, &ids[1], sizeof ids[1]), sizeof ids[1]);
    cr_assert_eq(ids[0], ids[1], "two that begin at the same time join");
    other_kill(&first);
    join();
    cr_assert_eq(sg_node_id(), ids[0]);
    sg_node_close();
    other_kill(&second);
    join();
    cr_assert_neq(sg_node_id(), ids[0], "it has outlived all its processes");
}

Test(node_segment, what_is_no_node_of_ours_is_left_alone, .init = setup)
{
    int id = shmget(IPC_PRIVATE, sizeof(struct sg_node), IPC_CREAT | 0600);
    cr_assert_geq(id, 0);
    struct sg_node *foreign = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    snprintf(foreign->name, sizeof foreign->name, "%s", name);
    foreign->magic = SG_NODE_MAGIC + 1; /* another version */
    foreign->id = 7;
    join();
    cr_assert_neq(sg_node_id(), 7);
    cr_assert_eq(foreign->slots, 0);
}

/* Killed when the segment exists and is not yet marked for destruction. */
Test(node_segment, what_a_killed_one_has_begun_is_taken_away, .init = setup)
{
    int status, pipes[2], id = -1;
    cr_assert_eq(pipe(pipes), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        id = shmget(IPC_PRIVATE, sizeof(struct sg_node), IPC_CREAT | SHM_NORESERVE | 0600);
        (void)!write(pipes[1], &id, sizeof id);
        raise(SIGKILL);
    }
    cr_assert_eq(read(pipes[0], &id, sizeof id), sizeof id);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    join();
    struct shmid_ds facts;
    cr_assert_eq(shmctl(id, IPC_STAT, &facts), -1);
}

/* ---- another user of this machine */

#define SOMEBODY 65534

/* A process of that user; its work ends with tell(). Only root can make one. */
static struct other somebody_start(void (*work)(int in, int out))
{
    int there[2], back[2];
    cr_assert_eq(pipe(there), 0);
    cr_assert_eq(pipe(back), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0) {
            abort();
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(there[0], back[1]);
        pause();
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    struct other other = {pid, there[1], back[0]};
    hear(other.out);
    return other;
}

static void take_all_locks(int in, int out)
{
    (void)in;
    static const char *const places[] = {"/", "/tmp", "/dev/shm", "/proc/sysvipc/shm"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = open(places[i], O_RDONLY);
        if (fd >= 0 && flock(fd, LOCK_EX) != 0) {
            abort();
        }
    }
    tell(out);
}

Test(node_segment, locks_of_another_user_keep_nobody_out, .init = setup)
{
    if (geteuid() != 0) {
        (void)fputs("skipped: only root can be somebody else\n", stderr);
        return;
    }
    struct other somebody = somebody_start(take_all_locks);
    struct other other = other_start(say_id);
    uint64_t id = 0;
    cr_assert_eq(read(other.out, &id, sizeof id), sizeof id);
    join();
    cr_assert_eq(sg_node_id(), id, "both have the same devices");
    other_kill(&other);
    other_kill(&somebody);
}

static uid_t owner;

/* Segments that look like those of `owner`: a node, and one that is being made. */
static void make_false_nodes(int in, int out)
{
    (void)in;
    for (int i = 0; i < 2; i++) {
        int id = shmget(IPC_PRIVATE, sizeof(struct sg_node), IPC_CREAT | SHM_NORESERVE | 0600);
        struct sg_node *node = shmat(id, NULL, 0);
        struct shmid_ds facts;
        if (id < 0 || shmctl(id, IPC_STAT, &facts) != 0) {
            abort();
        }
        snprintf(node->name, sizeof node->name, "%s", name);
        node->id = 7;
        node->magic = i == 0 ? SG_NODE_MAGIC : 0;
        facts.shm_perm.uid = owner;
        if (shmctl(id, IPC_SET, &facts) != 0 || shmctl(id, IPC_RMID, NULL) != 0) {
            abort();
        }
    }
    tell(out);
}

Test(node_segment, segments_that_another_user_has_given_us_are_left_alone, .init = setup)
{
    if (geteuid() != 0) {
        (void)fputs("skipped: only root can be somebody else\n", stderr);
        return;
    }
    owner = geteuid();
    struct other somebody = somebody_start(make_false_nodes);
    struct other other = other_start(say_id);
    uint64_t id = 0;
    cr_assert_eq(read(other.out, &id, sizeof id), sizeof id);
    cr_assert_neq(id, 7);
    join();
    cr_assert_eq(sg_node_id(), id, "both have the same devices");
    other_kill(&other);
    other_kill(&somebody);
}

#define CROWD 24

static void say_id_when_told(int in, int out)
{
    char byte;
    if (read(in, &byte, 1) != 1) {
        abort();
    }
    join();
    say_id(in, out);
}

/* All of them find nothing, and make one. */
Test(node_segment, a_crowd_that_begins_at_once_joins_one, .init = setup)
{
    int gate[2], back[2];
    cr_assert_eq(pipe(gate), 0);
    cr_assert_eq(pipe(back), 0);
    pid_t pids[CROWD];
    for (int i = 0; i < CROWD; i++) {
        pids[i] = fork();
        cr_assert_geq(pids[i], 0);
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            say_id_when_told(gate[0], back[1]);
        }
    }
    char all[CROWD] = {0};
    cr_assert_eq(write(gate[1], all, sizeof all), sizeof all);
    uint64_t first = 0;
    for (int i = 0; i < CROWD; i++) {
        uint64_t id;
        cr_assert_eq(read(back[0], &id, sizeof id), sizeof id);
        first = i == 0 ? id : first;
        cr_assert_eq(id, first);
    }
    for (int i = 0; i < CROWD; i++) {
        int status;
        kill(pids[i], SIGKILL);
        cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an event that processes share. A second page of the same file stands for another
 * process; where that dies, it is one. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/node/event_page.h"

static struct sg_event_page *mine, *theirs;

static struct sg_event_page *page_open(int fd)
{
    struct sg_event_page *page = NULL;
    cr_assert_eq(sg_event_page_open(fd, &page), GA_OK);
    return page;
}

static void make(void)
{
    cr_assert_eq(sg_event_page_make(&mine), GA_OK);
    theirs = page_open(sg_event_page_file(mine));
}

static void drop(void)
{
    sg_event_page_drop(mine);
    sg_event_page_drop(theirs);
}

TestSuite(event_page, .init = make, .fini = drop, .timeout = 60);

Test(event_page, what_one_records_the_other_waits_for)
{
    cr_assert_eq(sg_event_page_last(theirs), 0);
    uint64_t first = sg_event_page_record(mine);
    cr_assert_eq(sg_event_page_last(theirs), first);
    cr_assert_not(sg_event_page_done(theirs, first));
    uint64_t second = sg_event_page_record(theirs);
    cr_assert_neq(second, first);
    cr_assert_eq(sg_event_page_last(mine), second);
    sg_event_page_set_done(theirs, second);
    cr_assert(sg_event_page_done(mine, second));
    cr_assert_not(sg_event_page_done(theirs, first), "a later one is done, this one is not");
    sg_event_page_set_done(mine, first);
    cr_assert(sg_event_page_done(theirs, first));
    cr_assert(sg_event_page_done(mine, second));
}

Test(event_page, a_recording_stays_done_while_others_follow)
{
    uint64_t first = sg_event_page_record(mine);
    sg_event_page_set_done(mine, first);
    for (int i = 0; i < 1000; i++) {
        uint64_t next = sg_event_page_record(mine);
        cr_assert_not(sg_event_page_done(theirs, next));
        sg_event_page_set_done(mine, next);
        cr_assert(sg_event_page_done(theirs, next));
        cr_assert(sg_event_page_done(theirs, first));
    }
}

Test(event_page, work_of_a_destroyed_event_is_waited_for)
{
    uint64_t recording = sg_event_page_record(mine);
    sg_event_page_hold(mine); /* the work */
    sg_event_page_withdraw(mine);
    sg_event_page_drop(mine);
    cr_assert_not(sg_event_page_done(theirs, recording));
    struct sg_event_page *unused;
    cr_assert_eq(sg_event_page_open(sg_event_page_file(mine), &unused), GA_INVALID);
    sg_event_page_drop(mine); /* nobody will do it */
    mine = NULL;
    cr_assert(sg_event_page_done(theirs, recording));
}

Test(event_page, what_a_dead_process_has_recorded_is_done)
{
    int there[2], back[2], status;
    uint64_t recording;
    char byte;
    drop(); /* or the child had the lock, too */
    cr_assert(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork();
    if (child == 0) {
        while (read(there[0], &byte, 1) != 1) {
        }
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getppid(), (unsigned char)byte);
        struct sg_event_page *page = page_open(open(path, O_RDWR | O_CLOEXEC));
        recording = sg_event_page_record(page);
        (void)!write(back[1], &recording, sizeof recording);
        pause();
    }
    make();
    byte = (char)sg_event_page_file(mine);
    cr_assert_eq(write(there[1], &byte, 1), 1);
    cr_assert_eq(read(back[0], &recording, sizeof recording), (ssize_t)sizeof recording);
    cr_assert_eq(sg_event_page_last(mine), recording);
    cr_assert_not(sg_event_page_done(mine, recording));
    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(sg_event_page_done(mine, recording));
    uint64_t next = sg_event_page_record(theirs); /* the one that came before is not taken for it */
    cr_assert_not(sg_event_page_done(mine, next));
}

Test(event_page, a_copy_for_others_keeps_nobody_alive)
{
    int copy = sg_event_page_export(mine);
    uint64_t recording = sg_event_page_record(mine);
    struct sg_event_page *by_copy = page_open(copy);
    cr_assert_not(sg_event_page_done(by_copy, recording));
    sg_event_page_drop(mine);
    mine = NULL;
    cr_assert(sg_event_page_done(by_copy, recording));
    sg_event_page_drop(by_copy);
    close(copy);
}

static int file(const char *name, off_t bytes, int seals)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(fd, bytes), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

Test(event_page, what_could_kill_or_is_something_else_is_refused)
{
    struct sg_event_page *unused;
    const int wrong[] = {
        -1,
        open("/dev/zero", O_RDWR | O_CLOEXEC),
        file(SG_EVENT_PAGE_FILE, 4096, 0), /* it might get shorter */
        file(SG_EVENT_PAGE_FILE, 4095, F_SEAL_SHRINK),
        file("softgpu", 4096, F_SEAL_SHRINK),
        file(SG_EVENT_PAGE_FILE, 4096, F_SEAL_SHRINK), /* without a key */
        file(SG_EVENT_PAGE_FILE, 4096, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_neq(sg_event_page_open(wrong[i], &unused), GA_OK, "%zu", i);
    }
    cr_assert_neq(ftruncate(sg_event_page_file(mine), 0), 0);
    cr_assert_neq(ftruncate(sg_event_page_file(theirs), 8192), 0);
}

Test(event_page, a_process_has_so_many_and_no_more)
{
    static struct sg_event_page *made[SG_EVENT_PAGES_MAX];
    unsigned count = 0;
    while (count < SG_EVENT_PAGES_MAX && sg_event_page_make(&made[count]) == GA_OK) {
        count++;
    }
    cr_assert_leq(count, SG_EVENT_PAGES_MAX - 2, "two are there already");
    struct sg_event_page *unused;
    cr_assert_eq(sg_event_page_open(sg_event_page_file(mine), &unused), GA_NO_MEMORY);
    while (count > 0) {
        sg_event_page_drop(made[--count]);
    }
    sg_event_page_drop(page_open(sg_event_page_file(mine)));
}

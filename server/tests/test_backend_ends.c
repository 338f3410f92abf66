/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process inherits all of its ends, or nothing is left open. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/shared_memory.h"
#include "server/processes/backend_ends.h"

#define WITH_TURNS 9u /* descriptors */

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* How many more can be opened, of `most`. */
static unsigned room(unsigned most)
{
    int opened[64];
    unsigned count = 0;
    while (count < most && (opened[count] = dup(STDERR_FILENO)) >= 0) {
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        close(opened[i]);
    }
    return count;
}

/* The lowest numbers that are free, so many of them, are all that there are. */
static void leave_over(unsigned count)
{
    int opened[64];
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned i = 0; i < count; i++) {
        opened[i] = dup(STDERR_FILENO);
        cr_assert_geq(opened[i], 0);
    }
    limit.rlim_cur = (rlim_t)opened[count - 1] + 1;
    for (unsigned i = 0; i < count; i++) {
        close(opened[i]);
    }
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(room(64), count);
}

Test(backend_ends, both_ends_are_there)
{
    struct backend_ends ends;
    char why[200];
    unsigned before = descriptors();
    cr_assert_eq(backend_ends_make(&ends, true, why, sizeof why), GA_OK);
    cr_assert_eq(descriptors(), before + WITH_TURNS);
    struct grant_requests *requests =
        ga_shared_memory_map(ends.requests, sizeof(struct grant_requests), NULL);
    const struct grants *grants =
        ga_shared_memory_map_published(ends.grants, sizeof(struct grants));
    requests->of[1][2].word = 3;
    ends.our_grants->of[1][2].word = 4;
    cr_assert_eq(ends.our_requests->of[1][2].word, 3);
    cr_assert_eq(grants->of[1][2].word, 4);
    cr_assert_null(ga_shared_memory_map(ends.grants, sizeof(struct grants), NULL), "it only reads");
    cr_assert_eq(write(ends.bell, "x", 1), 1);
    cr_assert_eq(read(ends.our_bell, why, sizeof why), 1);
    backend_ends_close_theirs(&ends);
    cr_assert_eq(descriptors(), before + 3);
    backend_ends_undo(&ends);
    cr_assert_eq(descriptors(), before);
}

Test(backend_ends, a_probe_has_nothing_for_turns)
{
    struct backend_ends ends;
    char why[200];
    cr_assert_eq(backend_ends_make(&ends, false, why, sizeof why), GA_OK);
    cr_assert(ends.bell < 0 && ends.our_bell < 0 && ends.our_grants == NULL);
    backend_ends_undo(&ends);
}

Test(backend_ends, when_descriptors_run_out_nothing_is_left_open)
{
    for (unsigned left = WITH_TURNS - 1; left != 0; left--) {
        struct backend_ends ends;
        char why[200] = "";
        leave_over(left);
        cr_assert_neq(backend_ends_make(&ends, true, why, sizeof why), GA_OK, "%u are left", left);
        cr_assert_neq(why[0], 0);
        cr_assert_eq(room(64), left);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One server at a time has a database; who has it is told, and the kernel takes it from the dead.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/tests/scratch.h"

/* A process that has the lock, or the number of its failure as exit status. */
static pid_t lock_holder(const char *path)
{
    int ready[2];
    char byte;
    cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct store_lock *lock;
        char why[600];
        if (store_lock_take(path, &lock, why, sizeof why) != GA_OK || write(ready[1], "", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1, "it has no lock");
    close(ready[0]);
    return pid;
}

static void lock_holder_end(pid_t pid)
{
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static void lock_expect(const char *path, enum ga_status wanted, const char *part)
{
    struct store_lock *lock = NULL;
    char why[600] = "";
    enum ga_status status = store_lock_take(path, &lock, why, sizeof why);
    cr_assert_eq(status, wanted, "%d, not %d: %s", (int)status, (int)wanted, why);
    cr_assert(part == NULL || strstr(why, part) != NULL, "%s is not in: %s", part, why);
    store_lock_free(lock);
}

Test(lock, of_the_living_alone)
{
    const char *path = scratch_path("db"), *other = scratch_path("link");
    char who[80];
    pid_t pid = lock_holder(path); /* before there is a database */
    snprintf(who, sizeof who, "is used by gpuaasd, process %ld, since 20", (long)pid);
    lock_expect(path, GA_AGAIN, who);
    store_close(scratch_open(path));
    lock_expect(path, GA_AGAIN, who);
    cr_assert_eq(symlink(path, other), 0);
    lock_expect(other, GA_AGAIN, who);
    lock_expect(scratch_path("another"), GA_OK, NULL);
    lock_holder_end(pid);
    lock_expect(path, GA_OK, NULL);
    pid = lock_holder(other);
    snprintf(who, sizeof who, "process %ld,", (long)pid);
    lock_expect(path, GA_AGAIN, who);
    lock_holder_end(pid);
}

/* A look says the same, and makes and keeps nothing. */
Test(lock, looked_at)
{
    const char *path = scratch_path("db");
    char why[600] = "", who[80];
    cr_assert_eq(store_lock_look(path, why, sizeof why), GA_OK, "%s", why);
    cr_assert_neq(access(scratch_path("db-lock"), F_OK), 0);
    pid_t pid = lock_holder(path);
    snprintf(who, sizeof who, "is used by gpuaasd, process %ld, since 20", (long)pid);
    cr_assert_eq(store_lock_look(path, why, sizeof why), GA_AGAIN);
    cr_assert_not_null(strstr(why, who), "%s", why);
    lock_holder_end(pid);
    store_close(scratch_open(path));
    pid = lock_holder(path);
    cr_assert_eq(unlink(scratch_path("db-lock")), 0);
    cr_assert_eq(store_lock_look(path, why, sizeof why), GA_AGAIN);
    cr_assert_not_null(strstr(why, "another gpuaasd"), "%s", why);
    lock_holder_end(pid);
    cr_assert_eq(store_lock_look(path, why, sizeof why), GA_OK, "%s", why);
    lock_expect(path, GA_OK, NULL);
}

Test(lock, of_another_file)
{
    const char *path = scratch_path("db");
    char why[600] = "";
    struct store_lock *lock;
    cr_assert_eq(store_lock_take(path, &lock, why, sizeof why), GA_OK, "%s", why);
    cr_assert_not(store_lock_is_of_another(lock, path), "there was none");
    store_close(scratch_open(path));
    cr_assert_eq(store_lock_database(lock, path, why, sizeof why), GA_OK, "%s", why);
    cr_assert_not(store_lock_is_of_another(lock, path));
    cr_assert_eq(rename(path, scratch_path("away")), 0);
    cr_assert_not(store_lock_is_of_another(lock, path), "there is none");
    store_close(scratch_open(path));
    cr_assert(store_lock_is_of_another(lock, path));
    store_lock_free(lock);
}

/* By a hard link, beside which SQLite would keep another journal, and without the file of the lock.
 */
Test(lock, of_the_database_itself)
{
    const char *path = scratch_path("db"), *other = scratch_path("hard");
    store_close(scratch_open(path));
    pid_t pid = lock_holder(path);
    cr_assert_eq(link(path, other), 0);
    lock_expect(other, GA_AGAIN, "by another name");
    cr_assert_eq(unlink(scratch_path("db-lock")), 0);
    lock_expect(path, GA_AGAIN, "has been removed");
    store_close(scratch_open(path)); /* who needs no lock is not in its way, nor takes it away */
    lock_expect(path, GA_AGAIN, "has been removed");
    lock_holder_end(pid);
    lock_expect(path, GA_OK, NULL);
}

/* A database that is made, or takes the place of another one, behind the lock of the file. */
Test(lock, of_what_has_been_opened)
{
    struct store_lock *lock;
    char why[600];
    const char *path = scratch_path("db");
    cr_assert_eq(store_lock_take(path, &lock, why, sizeof why), GA_OK, "%s", why);
    for (unsigned i = 0; i < 2; i++) {
        store_close(scratch_open(path));
        cr_assert_eq(store_lock_database(lock, path, why, sizeof why), GA_OK, "%s", why);
        cr_assert_eq(unlink(scratch_path("db-lock")), 0);
        lock_expect(path, GA_AGAIN, "by another name");
        cr_assert_eq(unlink(path), 0);
    }
    store_lock_free(lock);
}

Test(lock, what_the_file_says_is_only_words)
{
    const char *path = scratch_path("db"), *place = scratch_path("db-lock");
    static const char *const texts[] = {"",
                                        "\n",
                                        "1 99999999999999999999",
                                        "x y",
                                        "-1 -1",
                                        "1 17000000000000000",
                                        "99999999999999999999 1"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        char who[80];
        pid_t pid = lock_holder(path);
        int file = open(place, O_WRONLY | O_TRUNC | O_CLOEXEC);
        cr_assert_eq(write(file, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
        snprintf(who, sizeof who, "is used by gpuaasd, process %ld: stop", (long)pid);
        lock_expect(path, GA_AGAIN, who);
        close(file);
        lock_holder_end(pid);
    }
}

Test(lock, of_others_than_its_owner)
{
    struct stat file;
    const char *path = scratch_path("db"), *place = scratch_path("db-lock");
    umask(0);
    lock_expect(path, GA_OK, NULL);
    cr_assert_eq(stat(place, &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    cr_assert_eq(unlink(place), 0);
    cr_assert_eq(symlink("/dev/null", place), 0);
    lock_expect(path, GA_DENIED, "cannot be made");
    lock_expect(scratch_path("none/db"), GA_DENIED, "make its folder first");
}

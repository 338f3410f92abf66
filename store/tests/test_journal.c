/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: what the last process wrote last is read, whatever happened to that process; and
 * nothing else is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/journal.h"
#include "store/tests/scratch.h"

static char why[600];

static struct store_usage row(const char *session, uint64_t gpu_ns)
{
    struct store_usage made = {.tenant_number = 1, .epoch = 3, .figures = {.gpu_ns = gpu_ns}};
    snprintf(made.session, sizeof made.session, "%s", session);
    return made;
}

static struct usage_journal *opened(const char *path)
{
    struct usage_journal *journal;
    cr_assert_eq(usage_journal_open(path, &journal, why, sizeof why), GA_OK, "%s", why);
    return journal;
}

/* As a new process finds it. */
static enum ga_status found(const char *path, struct store_usage **rows, size_t *count)
{
    struct usage_journal *journal = opened(path);
    enum ga_status status = usage_journal_read(journal, rows, count, why, sizeof why);
    usage_journal_close(journal);
    return status;
}

static void expect_found(const char *path, size_t count, uint64_t gpu_ns)
{
    struct store_usage *rows;
    size_t there;
    cr_assert_eq(found(path, &rows, &there), GA_OK, "%s", why);
    cr_assert_eq(there, count);
    cr_assert(count == 0 || rows[count - 1].figures.gpu_ns == gpu_ns);
    free(rows);
}

static void expect_invalid(const char *path, const char *part)
{
    struct store_usage *rows;
    size_t count;
    cr_assert_eq(found(path, &rows, &count), GA_INVALID);
    cr_assert(strstr(why, part) != NULL, "%s", why);
    cr_assert_null(rows);
}

static const char *database(void)
{
    const char *path = scratch_path("usage.db");
    store_close(scratch_open(path));
    return path;
}

static void write_rows(struct usage_journal *journal, const struct store_usage *rows, size_t count)
{
    cr_assert_eq(usage_journal_write(journal, rows, count), GA_OK);
}

/* Changes bytes of the file behind its back. */
static void change(const char *path, off_t at, const void *bytes, size_t size)
{
    char place[200];
    snprintf(place, sizeof place, "%s-usage", path);
    int file = open(place, O_WRONLY | O_CLOEXEC);
    cr_assert(file >= 0 && pwrite(file, bytes, size, at) == (ssize_t)size);
    close(file);
}

static off_t half_size(void)
{
    return 4096 + (off_t)(USAGE_JOURNAL_ROWS * sizeof(struct store_usage));
}

Test(journal, the_last_writing_counts)
{
    const char *path = database();
    expect_found(path, 0, 0);
    struct usage_journal *journal = opened(path);
    struct store_usage *none;
    size_t count;
    cr_assert_eq(usage_journal_read(journal, &none, &count, why, sizeof why), GA_OK);
    for (uint64_t i = 1; i <= 5; i++) {
        const struct store_usage rows[] = {row("a", i), row("b", 10 * i)};
        write_rows(journal, rows, 1 + i % 2);
        expect_found(path, 1 + i % 2, i % 2 == 0 ? i : 10 * i);
    }
    write_rows(journal, NULL, 0);
    expect_found(path, 0, 0);
    usage_journal_close(journal);
}

/* And goes on from there: what the next process writes is the newer one. */
Test(journal, the_next_process_goes_on)
{
    const char *path = database();
    for (uint64_t i = 1; i <= 4; i++) {
        struct usage_journal *journal = opened(path);
        struct store_usage *rows;
        size_t count;
        cr_assert_eq(usage_journal_read(journal, &rows, &count, why, sizeof why), GA_OK);
        cr_assert_eq(count, i > 1);
        free(rows);
        const struct store_usage made = row("a", i);
        write_rows(journal, &made, 1);
        usage_journal_close(journal);
        expect_found(path, 1, i);
    }
}

/* Killed between rows and head: the one before counts. */
Test(journal, a_writing_that_was_not_finished_does_not_count)
{
    const char *path = database();
    struct usage_journal *journal = opened(path);
    const struct store_usage one = row("a", 1), two = row("a", 2);
    write_rows(journal, &one, 1); /* to the second half */
    write_rows(journal, &two, 1); /* to the first one */
    struct store_usage torn = row("a", 3);
    memset(torn.session, 'x', sizeof torn.session);
    change(path, half_size() + 4096, &torn, sizeof torn);
    expect_found(path, 1, 2);
    usage_journal_close(journal);
}

Test(journal, what_is_not_its_own_does_not_count)
{
    const char *path = database();
    struct usage_journal *journal = opened(path);
    const struct store_usage made = row("a", 1);
    write_rows(journal, &made, 1);
    struct store_usage torn = made;
    memset(torn.user, 'x', sizeof torn.user);
    change(path, half_size() + 4096, &torn, sizeof torn);
    expect_invalid(path, "damaged");
    torn = made;
    memset(&torn.more, 2, sizeof torn.more);
    change(path, half_size() + 4096, &torn, sizeof torn);
    expect_invalid(path, "damaged");
    change(path, half_size() + 4096, &made, sizeof made);
    expect_found(path, 1, 1);
    change(path, half_size() + 32, "0123", 4); /* of the machine's start */
    expect_invalid(path, "before this machine has started");
    write_rows(journal, &made, 1);
    expect_found(path, 1, 1);
    change(path, 7, "1", 1); /* its magic: the order of figures was another one */
    expect_invalid(path, "another version");
    change(path, 7, "2", 1);
    expect_found(path, 1, 1);
    const uint64_t most = UINT64_MAX;
    change(path, 80, &most, sizeof most); /* so many rows */
    expect_invalid(path, "another version");
    usage_journal_close(journal);
}

Test(journal, a_database_that_has_been_replaced_has_none)
{
    const char *path = database(), *other = scratch_path("other.db");
    struct usage_journal *journal = opened(path);
    const struct store_usage made = row("a", 1);
    write_rows(journal, &made, 1);
    usage_journal_close(journal);
    store_close(scratch_open(other));
    cr_assert_eq(rename(other, path), 0);
    expect_invalid(path, "another database");
}

Test(journal, more_rows_than_it_takes)
{
    const char *path = database();
    struct usage_journal *journal = opened(path);
    struct store_usage *rows = calloc(USAGE_JOURNAL_ROWS + 9, sizeof *rows);
    cr_assert_not_null(rows);
    rows[USAGE_JOURNAL_ROWS - 1] = row("last", 7);
    write_rows(journal, rows, USAGE_JOURNAL_ROWS + 9);
    write_rows(journal, rows, USAGE_JOURNAL_ROWS + 9); /* no half is in the other */
    expect_found(path, USAGE_JOURNAL_ROWS, 7);
    free(rows);
    usage_journal_close(journal);
}

Test(journal, it_is_its_owners_alone)
{
    struct stat file;
    const char *path = database();
    char place[200];
    usage_journal_close(opened(path));
    snprintf(place, sizeof place, "%s-usage", path);
    cr_assert(stat(place, &file) == 0 && (file.st_mode & 077) == 0);
    struct usage_journal *journal = (void *)1;
    cr_assert_eq(usage_journal_open(":memory:here", &journal, why, sizeof why), GA_OK);
    cr_assert_null(journal);
    cr_assert_eq(usage_journal_open(scratch_path("nowhere.db"), &journal, why, sizeof why),
                 GA_DENIED);
    cr_assert_eq(symlink("/dev/null", place), -1);
    cr_assert(unlink(place) == 0 && symlink("/dev/null", place) == 0);
    cr_assert_eq(usage_journal_open(path, &journal, why, sizeof why), GA_DENIED);
    cr_assert(strstr(why, place) != NULL, "%s", why);
}

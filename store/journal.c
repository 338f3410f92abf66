/* SPDX-License-Identifier: Apache-2.0 */
/* Note: the file has two halves, which are written in turns, each with its head last: a half whose
 * rows are being changed is the older one, by its head. */
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_SUFFIX "-usage"
#define JOURNAL_MAGIC  "gpuaasu2" /* its last character: the order of figures in a row */
#define BOOT_ID        "/proc/sys/kernel/random/boot_id"

struct journal_head {
    char magic[8];
    uint64_t turn;          /* the half with the larger one counts */
    uint64_t device, inode; /* of the database */
    char boot[40];          /* the machine's since it has started */
    uint64_t row_bytes, count;
};

#define HALF_HEAD  ((off_t)4096)
#define HALF_BYTES (HALF_HEAD + (off_t)(USAGE_JOURNAL_ROWS * sizeof(struct store_usage)))

struct usage_journal {
    int file;
    struct journal_head head; /* of the last writing */
};

_Static_assert(sizeof(struct journal_head) <= 4096, "it has its page");

static void boot_read(char boot[40])
{
    int file = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    memset(boot, 0, 40);
    if (file >= 0) {
        (void)!read(file, boot, 39);
        close(file);
    }
}

enum ga_status usage_journal_open(const char *path, struct usage_journal **out, char *why,
                                  size_t why_size)
{
    char place[4096];
    struct stat database;
    *out = NULL;
    if (path[0] == ':') {
        return GA_OK;
    }
    int length = snprintf(place, sizeof place, "%s" JOURNAL_SUFFIX, path);
    if (length >= (int)sizeof place || stat(path, &database) != 0) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return GA_DENIED;
    }
    struct usage_journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    journal->file = open(place, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->file < 0) {
        snprintf(why, why_size, "%s: %s", place, strerror(errno));
        free(journal);
        return GA_DENIED;
    }
    journal->head = (struct journal_head){.magic = JOURNAL_MAGIC,
                                          .device = database.st_dev,
                                          .inode = database.st_ino,
                                          .row_bytes = sizeof(struct store_usage)};
    boot_read(journal->head.boot);
    *out = journal;
    return GA_OK;
}

void usage_journal_follow(struct usage_journal *journal, const char *path)
{
    struct stat database;
    if (journal != NULL && stat(path, &database) == 0) {
        journal->head.device = database.st_dev;
        journal->head.inode = database.st_ino;
    }
}

void usage_journal_close(struct usage_journal *journal)
{
    if (journal != NULL) {
        close(journal->file);
        free(journal);
    }
}

static off_t half_of(uint64_t turn)
{
    return (off_t)(turn % 2) * HALF_BYTES;
}

static bool text_ends(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

static bool number_is(const void *bytes, size_t size, unsigned most)
{
    unsigned number = 0;
    memcpy(&number, bytes, size); /* before it is taken for what it may not be */
    return number <= most;
}

static bool row_is_whole(const struct store_usage *row)
{
    return text_ends(row->tenant, sizeof row->tenant) && text_ends(row->node, sizeof row->node) &&
           text_ends(row->session, sizeof row->session) && text_ends(row->gpu, sizeof row->gpu) &&
           text_ends(row->user, sizeof row->user) && text_ends(row->reason, sizeof row->reason) &&
           number_is(&row->more, sizeof row->more, 1) &&
           number_is(&row->isolation, sizeof row->isolation, ISOLATION_EXCLUSIVE);
}

/* Whether there is a head at all. */
static bool journal_head_read(const struct usage_journal *journal, uint64_t half,
                              struct journal_head *head)
{
    return pread(journal->file, head, sizeof *head, half_of(half)) == sizeof *head &&
           memcmp(head->magic, JOURNAL_MAGIC, sizeof head->magic - 1) == 0 &&
           head->turn < UINT64_MAX / 2; /* there is a next one */
}

/* NULL: it may be used. */
static const char *head_reason(const struct journal_head *head, const struct journal_head *own)
{
    if (memcmp(head->magic, own->magic, sizeof own->magic) != 0 ||
        head->row_bytes != own->row_bytes || head->count > USAGE_JOURNAL_ROWS) {
        return "is of another version of gpuaasd";
    }
    if (memcmp(head->boot, own->boot, sizeof own->boot) != 0) {
        return "was written before this machine has started";
    }
    return head->device != own->device || head->inode != own->inode ? "is of another database"
                                                                    : NULL;
}

static enum ga_status rows_read(const struct usage_journal *journal,
                                const struct journal_head *head, struct store_usage **out,
                                char *why, size_t why_size)
{
    size_t size = head->count * sizeof **out;
    struct store_usage *rows = malloc(size);
    if (rows == NULL) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    bool whole = pread(journal->file, rows, size, half_of(head->turn) + HALF_HEAD) == (ssize_t)size;
    for (size_t i = 0; whole && i < head->count; i++) {
        whole = row_is_whole(&rows[i]);
    }
    if (!whole) {
        snprintf(why, why_size, "is damaged");
        free(rows);
        return GA_INVALID;
    }
    *out = rows;
    return GA_OK;
}

enum ga_status usage_journal_read(struct usage_journal *journal, struct store_usage **rows,
                                  size_t *count, char *why, size_t why_size)
{
    struct journal_head head = {0}, half;
    *rows = NULL;
    *count = 0;
    for (uint64_t i = 0; i < 2; i++) {
        if (journal_head_read(journal, i, &half) && half.turn % 2 == i && half.turn >= head.turn) {
            head = half;
        }
    }
    journal->head.turn = head.turn;
    if (head.count == 0) {
        return GA_OK;
    }
    const char *reason = head_reason(&head, &journal->head);
    if (reason != NULL) {
        snprintf(why, why_size, "%s", reason);
        return GA_INVALID;
    }
    GA_TRY(rows_read(journal, &head, rows, why, why_size));
    *count = head.count;
    return GA_OK;
}

static bool written(int file, const void *bytes, size_t size, off_t at)
{
    return pwrite(file, bytes, size, at) == (ssize_t)size;
}

enum ga_status usage_journal_write(struct usage_journal *journal, const struct store_usage *rows,
                                   size_t count)
{
    struct journal_head head = journal->head;
    if (count == 0 && head.count == 0 && head.turn != 0) {
        return GA_OK;
    }
    head.turn++;
    head.count = count < USAGE_JOURNAL_ROWS ? count : USAGE_JOURNAL_ROWS;
    off_t half = half_of(head.turn);
    if (!written(journal->file, rows, head.count * sizeof *rows, half + HALF_HEAD) ||
        !written(journal->file, &head, sizeof head, half)) {
        return GA_DENIED;
    }
    journal->head = head;
    return GA_OK;
}

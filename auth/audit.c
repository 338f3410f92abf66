/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the audit log.
 *
 * Note: what was written in part is taken away again at once, also on a full disk. If even that
 * fails, nothing more is written until it succeeds: no line ever follows a part of another one. */
#include "auth/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/audit_line.h"
#include "auth/audit_log.h"
#include "auth/audit_place.h"

#define AUDIT_DAY_MS    INT64_C(86400000)
#define AUDIT_BURST     100 /* lines of failures at once */
#define AUDIT_REFILL_S  1   /* and then one in so many seconds */
#define AUDIT_REPORT_MS 10000

enum ga_status audit_failed(struct auth_audit *audit, const char *what, int error)
{
    bool full = error == ENOSPC || error == EDQUOT;
    snprintf(audit->why, sizeof audit->why, "the audit log %.180s: %s: %.60s%s", audit->folder,
             what, strerror(error), full ? "; make room on its disk" : "");
    return full || error == ENOMEM                               ? GA_NO_MEMORY
           : error == EACCES || error == EROFS || error == EPERM ? GA_DENIED
                                                                 : GA_LOST;
}

static bool path_make(const struct auth_audit *audit, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", audit->folder, name) < PATH_MAX;
}

/* Takes away what is behind the whole lines. */
static enum ga_status audit_cut(struct auth_audit *audit)
{
    return ftruncate(audit->file, audit->size) == 0
               ? GA_OK
               : audit_failed(audit, "a part of a line cannot be taken away", errno);
}

/* Appends bytes, all or none. */
static enum ga_status audit_append(struct auth_audit *audit, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t written = pwrite(audit->file, bytes + done, size - done, audit->size + (off_t)done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            enum ga_status status =
                audit_failed(audit, "a line cannot be written", written < 0 ? errno : ENOSPC);
            return done != 0 && audit_cut(audit) != GA_OK ? GA_LOST : status;
        }
        done += (size_t)written;
    }
    audit->size += (off_t)size;
    return GA_OK;
}

static enum ga_status line_write(struct auth_audit *audit, int64_t now_ms, const char *event,
                                 const struct auth_field *fields, size_t count)
{
    struct audit_link link;
    size_t size;
    char *line = audit_line_make(&audit->last, now_ms, event, fields, count, &link, &size);
    if (line == NULL) {
        return audit_failed(audit, "a line cannot be made", ENOMEM);
    }
    enum ga_status status = audit_append(audit, line, size);
    if (status == GA_OK) {
        audit->last = link;
    }
    free(line);
    return status;
}

static enum ga_status file_open(struct auth_audit *audit, int64_t day)
{
    char name[AUDIT_NAME_BYTES], path[PATH_MAX];
    struct stat status;
    audit_line_file(day, name);
    if (!path_make(audit, name, path)) {
        return audit_failed(audit, "its path is too long", ENAMETOOLONG);
    }
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || fstat(file, &status) != 0) {
        enum ga_status failure = audit_failed(audit, name, errno);
        if (file >= 0) {
            close(file);
        }
        return failure;
    }
    enum ga_status ours = audit_place_is_ours(file, path, audit->why, sizeof audit->why);
    if (ours != GA_OK) {
        close(file);
        return ours;
    }
    if (audit->file >= 0 && audit->synced.seq != audit->last.seq) {
        audit->before = audit->file; /* it has lines that are not on the disk */
    } else if (audit->file >= 0) {
        close(audit->file);
    }
    audit->made = audit->made || status.st_size == 0;
    audit->file = file;
    audit->day = day;
    audit->size = status.st_size;
    return GA_OK;
}

/* The first line of a file. */
static enum ga_status audit_begin(struct auth_audit *audit, int64_t now_ms)
{
    char hex[AUTH_AUDIT_HEX];
    audit_line_hex(audit->last.hash, hex);
    return line_write(audit, now_ms, "audit.begin",
                      (struct auth_field[]){AUTH_TEXT("previous", hex)}, 1);
}

/* The file of the day, which a clock that goes back does not change; nor one that goes on while
 * lines are on their way to the disk. */
static enum ga_status file_for(struct auth_audit *audit, int64_t now_ms)
{
    int64_t day = now_ms / AUDIT_DAY_MS;
    if (audit->file < 0 || (day > audit->day && !audit->syncing)) {
        if (audit->before >= 0) { /* two days at once: the clock was set */
            GA_TRY(audit_sync(audit));
        }
        GA_TRY(file_open(audit, day > audit->day ? day : audit->day));
    }
    return audit->size == 0 ? audit_begin(audit, now_ms) : GA_OK;
}

/* Lines go out again after a failure, which is over when they are on the disk. */
static enum ga_status resume(struct auth_audit *audit, int64_t now_ms)
{
    if (!audit->failed || audit->resumes) {
        return file_for(audit, now_ms);
    }
    GA_TRY(file_for(audit, now_ms));
    GA_TRY(audit_cut(audit));
    struct auth_field lost = AUTH_NUMBER("lost", (int64_t)audit->lost);
    GA_TRY(line_write(audit, now_ms, "audit.resumed", &lost, 1));
    audit->resumes = true;
    audit->told = audit->lost;
    return GA_OK;
}

static void write_failed(struct auth_audit *audit)
{
    audit->failed = true;
    audit->resumes = false;
}

enum ga_status auth_audit_write(struct auth_audit *audit, int64_t now_ms, const char *event,
                                const struct auth_field *fields, size_t count, bool durable)
{
    enum ga_status status = resume(audit, now_ms);
    if (status == GA_OK) {
        status = line_write(audit, now_ms, event, fields, count);
    }
    if (status == GA_OK && durable) {
        status = audit_sync(audit);
    }
    if (status != GA_OK) {
        write_failed(audit);
        audit->lost++;
        audit->lost_ever++;
    }
    return status;
}

/* Whether there is room for one more line. */
static bool storm_takes(struct audit_storm *storm, int64_t now_ms)
{
    int64_t second = now_ms / 1000, more = (second - storm->bucket_second) / AUDIT_REFILL_S;
    if (more > 0) {
        storm->bucket = storm->bucket + more > AUDIT_BURST ? AUDIT_BURST : storm->bucket + more;
        storm->bucket_second += more * AUDIT_REFILL_S;
    } else if (more < 0) { /* the clock has gone back */
        storm->bucket_second = second;
    }
    if (storm->bucket == 0) {
        storm->left_out++;
        return false;
    }
    storm->bucket--;
    return true;
}

enum ga_status auth_audit_write_failure(struct auth_audit *audit, enum auth_audit_storm of,
                                        int64_t now_ms, const char *event,
                                        const struct auth_field *fields, size_t count)
{
    struct auth_field all[AUTH_AUDIT_FIELDS_MAX];
    struct audit_storm *storm = &audit->storms[of];
    if (!storm_takes(storm, now_ms)) {
        return audit->failed ? GA_NO_MEMORY : GA_OK;
    }
    count = count < AUTH_AUDIT_FIELDS_MAX - 1 ? count : AUTH_AUDIT_FIELDS_MAX - 1;
    memcpy(all, fields, count * sizeof *all);
    if (storm->left_out != 0) {
        all[count++] = AUTH_NUMBER("left_out", (int64_t)storm->left_out);
    }
    enum ga_status status = auth_audit_write(audit, now_ms, event, all, count, false);
    if (status == GA_OK) {
        storm->left_out = 0;
    }
    return status;
}

/* A storm that is over. */
static void storm_report(struct auth_audit *audit, enum auth_audit_storm of, int64_t now_ms)
{
    static const char *const events[] = {
        [AUTH_AUDIT_STRANGERS] = "auth.left_out", [AUTH_AUDIT_PROGRAMS] = "session.left_out"};
    struct audit_storm *storm = &audit->storms[of];
    if (storm->left_out != 0 && now_ms - storm->reported_ms >= AUDIT_REPORT_MS) {
        struct auth_field left_out = AUTH_NUMBER("left_out", (int64_t)storm->left_out);
        storm->reported_ms = now_ms;
        if (auth_audit_write(audit, now_ms, events[of], &left_out, 1, false) == GA_OK) {
            storm->left_out = 0;
        }
    }
}

void auth_audit_turn(struct auth_audit *audit, int64_t now_ms)
{
    for (unsigned i = 0; i < AUTH_AUDIT_STORMS; i++) {
        storm_report(audit, (enum auth_audit_storm)i, now_ms);
    }
    if (audit->failed && resume(audit, now_ms) != GA_OK) {
        write_failed(audit);
    }
}

bool auth_audit_tick(struct auth_audit *audit, int64_t now_ms)
{
    auth_audit_turn(audit, now_ms);
    if (!audit->failed || audit->resumes) {
        enum ga_status status = audit_sync(audit);
        (void)status; /* it has failed then */
    }
    return !audit->failed;
}

bool auth_audit_works(const struct auth_audit *audit)
{
    return !audit->failed;
}

uint64_t auth_audit_lost(const struct auth_audit *audit)
{
    return audit->lost_ever;
}

const char *auth_audit_why(const struct auth_audit *audit)
{
    return audit->why;
}

/* ---- opening */

/* Sets audit->size to where the whole lines of the open file end, and *last to the last of them.
 * *tail: what is behind, as a text; NULL: nothing. */
static enum ga_status last_line(struct auth_audit *audit, struct audit_link *last, char **tail)
{
    off_t from =
        audit->size > (off_t)(2 * AUDIT_LINE_MAX) ? audit->size - (off_t)(2 * AUDIT_LINE_MAX) : 0;
    size_t size = (size_t)(audit->size - from);
    char *bytes = malloc(size + 1);
    if (bytes == NULL) {
        return audit_failed(audit, "it cannot be read", ENOMEM);
    }
    ssize_t got = pread(audit->file, bytes, size, from);
    if (got < 0) {
        enum ga_status status = audit_failed(audit, "it cannot be read", errno);
        free(bytes);
        return status;
    }
    bytes[got] = 0;
    size_t whole = (size_t)got;
    while (whole > 0 && bytes[whole - 1] != '\n') {
        whole--;
    }
    for (size_t i = whole; i < (size_t)got; i++) {
        bytes[i] = bytes[i] == 0 ? '?' : bytes[i]; /* pages that never got their bytes */
    }
    *tail = whole < (size_t)got ? strdup(bytes + whole) : NULL;
    bool fine = *tail != NULL || whole == (size_t)got;
    audit->size = from + (off_t)whole;
    size_t start = whole > 0 ? whole - 1 : 0;
    while (start > 0 && bytes[start - 1] != '\n') {
        start--;
    }
    struct audit_line line;
    if (whole > 0 && audit_line_read(bytes + start, whole - 1 - start, &line)) {
        *last = line.link;
    }
    free(bytes);
    return fine ? GA_OK : audit_failed(audit, "it cannot be read", ENOMEM);
}

/* Finds the last line of all files. *torn: what is behind it in its file, or NULL. The file is open
 * then. */
static enum ga_status find_end(struct auth_audit *audit, char **torn)
{
    char **names;
    size_t count;
    GA_TRY(audit_line_files(audit->folder, &names, &count, audit->why, sizeof audit->why));
    enum ga_status status = GA_OK;
    int64_t newest = 0;
    for (size_t i = count; i > 0 && status == GA_OK && audit->last.seq == 0; i--) {
        int64_t day = 0;
        bool is_log = audit_line_file_read(names[i - 1], &day);
        newest = i == count ? day : newest;
        char *tail = NULL;
        status = is_log ? file_open(audit, day) : GA_OK;
        if (status == GA_OK && is_log) {
            status = last_line(audit, &audit->last, &tail);
        }
        if (status == GA_OK && tail != NULL) {
            free(*torn);
            *torn = tail;
            status = audit_cut(audit);
        }
    }
    if (status == GA_OK && count > 0 && audit->day != newest) {
        status = file_open(audit, newest); /* it has no line yet */
    }
    audit_line_files_free(names, count);
    return status;
}

/* The head as the last writer has left it; *known false: there is none, or it is damaged.
 * GA_CONFLICT: there is a writer. */
static enum ga_status head_open(struct auth_audit *audit, struct audit_link *link, bool *known)
{
    char path[PATH_MAX], text[AUDIT_HEAD_BYTES];
    if (!path_make(audit, AUDIT_HEAD, path)) {
        return audit_failed(audit, "its path is too long", ENAMETOOLONG);
    }
    audit->head = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (audit->head < 0) {
        return audit_failed(audit, AUDIT_HEAD, errno);
    }
    GA_TRY(audit_place_is_ours(audit->head, path, audit->why, sizeof audit->why));
    if (flock(audit->head, LOCK_EX | LOCK_NB) != 0) {
        snprintf(audit->why, sizeof audit->why,
                 "another process writes the audit log %.200s: name another folder, or end it",
                 audit->folder);
        return GA_CONFLICT;
    }
    ssize_t got = pread(audit->head, text, sizeof text, 0);
    if (got < 0) {
        return audit_failed(audit, AUDIT_HEAD, errno);
    }
    memset(link, 0, sizeof *link);
    *known = audit_line_head_read(text, (size_t)got, link);
    return GA_OK;
}

/* Goes on where the last writer has stopped, and says what is missing or was cut. */
static enum ga_status go_on(struct auth_audit *audit, int64_t now_ms)
{
    struct audit_link head;
    bool known;
    char *torn = NULL;
    GA_TRY(head_open(audit, &head, &known));
    enum ga_status status = find_end(audit, &torn);
    struct audit_link end = audit->last;
    bool gap = head.seq > end.seq || (!known && end.seq > 0);
    if (status == GA_OK && head.seq > end.seq) {
        audit->last = head;
    }
    if (status == GA_OK && !known && end.seq == 0) {
        status =
            audit_head_write(audit, &end); /* before the first line: it must not be missed later */
        if (status == GA_OK && fsync(audit->head) != 0) {
            status = audit_failed(audit, "its head does not reach the disk", errno);
        }
    }
    if (status == GA_OK) {
        status = file_for(audit, now_ms);
    }
    if (status == GA_OK && gap) {
        status = line_write(audit, now_ms, "audit.gap",
                            (struct auth_field[]){AUTH_NUMBER("last", (int64_t)end.seq),
                                                  AUTH_NUMBER("acknowledged", (int64_t)head.seq)},
                            2);
    }
    if (status == GA_OK && torn != NULL) {
        status = line_write(audit, now_ms, "audit.torn",
                            (struct auth_field[]){AUTH_NUMBER("bytes", (int64_t)strlen(torn)),
                                                  AUTH_TEXT("text", torn)},
                            2);
    }
    free(torn);
    return status == GA_OK ? audit_sync(audit) : status;
}

enum ga_status auth_audit_open(const char *folder, int64_t now_ms, struct auth_audit **out,
                               char *why, size_t why_size)
{
    struct auth_audit *audit = calloc(1, sizeof *audit);
    if (audit == NULL) {
        snprintf(why, why_size, "there is no memory");
        return GA_NO_MEMORY;
    }
    audit->file = -1;
    audit->before = -1;
    audit->head = -1;
    for (unsigned i = 0; i < AUTH_AUDIT_STORMS; i++) {
        audit->storms[i] =
            (struct audit_storm){.bucket = AUDIT_BURST, .bucket_second = now_ms / 1000};
    }
    enum ga_status status = GA_OK;
    if (snprintf(audit->folder, sizeof audit->folder, "%s", folder) >= (int)sizeof audit->folder) {
        status = audit_failed(audit, "its path is too long", ENAMETOOLONG);
    } else if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        status = audit_failed(audit, "its folder cannot be made", errno);
    } else {
        status = auth_audit_check(folder, audit->why, sizeof audit->why);
    }
    if (status == GA_OK) {
        status = go_on(audit, now_ms);
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", audit->why);
        auth_audit_close(audit);
        return status;
    }
    *out = audit;
    return GA_OK;
}

void auth_audit_close(struct auth_audit *audit)
{
    if (audit == NULL) {
        return;
    }
    enum ga_status status = audit_sync(audit);
    (void)status; /* lines that are not on the disk are behind the head, as after a crash */
    if (audit->file >= 0) {
        close(audit->file);
    }
    if (audit->before >= 0) {
        close(audit->before);
    }
    if (audit->head >= 0) {
        close(audit->head);
    }
    free(audit);
}

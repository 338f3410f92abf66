/* SPDX-License-Identifier: Apache-2.0 */
/* Looking through the audit log. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/audit_line.h"

struct verify {
    void (*found)(void *user, const char *file, uint64_t line, const char *text);
    void *user;
    struct auth_audit_summary *summary;
    struct audit_link last; /* the line before */
    bool any;               /* there was one */
    struct audit_link head;
    bool has_head, head_seen;
    const char *file;
    uint64_t line;
};

static void finding(struct verify *verify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void finding(struct verify *verify, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verify->summary->findings++;
    verify->found(verify->user, verify->file, verify->line, text);
}

/* One line with a right form. */
static void line_verify(struct verify *verify, const char *text, const struct audit_line *line)
{
    uint64_t seq = line->link.seq, wanted = verify->last.seq + 1;
    const uint8_t *before = verify->last.hash;
    if (!verify->any) {
        verify->summary->first = seq;
        if (seq != 1 && !line->begins) {
            finding(verify, "the log begins with line %" PRIu64 ", in the middle of a day", seq);
        }
        if (seq != 1 && line->begins) {
            before = line->previous; /* older files are elsewhere */
        }
        wanted = seq;
    }
    if (seq > wanted) {
        finding(verify, "lines %" PRIu64 " to %" PRIu64 " are missing before this one", wanted,
                seq - 1);
    } else if (seq < wanted) {
        finding(verify, "line %" PRIu64 " is at the place of line %" PRIu64, seq, wanted);
    } else if (!audit_line_follows(text, line, before)) {
        finding(verify, "line %" PRIu64 " was changed (or the one before it, and given a new hash)",
                seq);
    }
    if (line->begins != (verify->line == 1)) {
        finding(verify, line->begins ? "a file begins in the middle of another one"
                                     : "the file does not begin with its first line");
    }
    if (verify->has_head && seq == verify->head.seq) {
        verify->head_seen = true;
        if (memcmp(verify->head.hash, line->link.hash, AUDIT_HASH_BYTES) != 0) {
            finding(verify, "line %" PRIu64 " is not the one that was acknowledged", seq);
        }
    }
    if (line->gap) {
        finding(verify,
                "when the log was opened here, acknowledged lines, or its head, were missing");
    }
    verify->summary->torn += line->torn;
    verify->last = line->link;
    verify->any = true;
}

/* A line as it is in the file; `whole`: with its newline, which is not part of `size`. */
static void text_verify(struct verify *verify, const char *text, size_t size, bool whole,
                        bool newest)
{
    struct audit_line line;
    verify->line++;
    if (!whole && newest && (!verify->has_head || verify->last.seq >= verify->head.seq)) {
        verify->summary->torn++; /* a crash, or it is being written now */
        return;
    }
    if (!whole) {
        finding(verify, "the line is cut off");
        return;
    }
    verify->summary->lines++;
    if (!audit_line_read(text, size, &line)) {
        finding(verify, "this is no line of the log");
        return;
    }
    line_verify(verify, text, &line);
}

static enum ga_status file_verify(struct verify *verify, const char *path, bool newest, char *why,
                                  size_t why_size)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t size;
    if (file == NULL) {
        snprintf(why, why_size, "%s cannot be read: %s", path, strerror(errno));
        return errno == ENOMEM ? GA_NO_MEMORY : GA_DENIED;
    }
    verify->line = 0;
    errno = 0;
    while ((size = getdelim(&text, &room, '\n', file)) > 0) {
        bool whole = text[size - 1] == '\n';
        text_verify(verify, text, (size_t)size - whole, whole, newest);
    }
    enum ga_status status = GA_OK;
    if (ferror(file) || !feof(file)) {
        snprintf(why, why_size, "%s cannot be read: %s", path, strerror(errno));
        status = GA_LOST;
    }
    free(text);
    fclose(file);
    return status;
}

static void verify_head_read(struct verify *verify, const char *folder)
{
    char path[PATH_MAX], text[AUDIT_HEAD_BYTES + 1];
    if (snprintf(path, sizeof path, "%s/%s", folder, AUDIT_HEAD) >= (int)sizeof path) {
        return;
    }
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        size_t size = fread(text, 1, sizeof text, file);
        verify->has_head = audit_line_head_read(text, size, &verify->head);
        fclose(file);
    }
}

/* Whether the log ends where it did. */
static void end_verify(struct verify *verify)
{
    verify->line = 0;
    verify->file = AUDIT_HEAD;
    if (!verify->has_head) {
        if (verify->any) {
            finding(verify, "the head of the log is missing or damaged: lines may be missing at "
                            "the end");
        }
    } else if (verify->last.seq < verify->head.seq) {
        finding(verify,
                "the log ends with line %" PRIu64 ", but line %" PRIu64
                " was acknowledged: lines are missing at the end",
                verify->last.seq, verify->head.seq);
    } else if (!verify->head_seen && verify->head.seq >= verify->summary->first &&
               verify->head.seq != 0) {
        finding(verify, "line %" PRIu64 ", which was acknowledged, is missing", verify->head.seq);
    }
}

enum ga_status
auth_audit_verify(const char *folder,
                  void (*found)(void *user, const char *file, uint64_t line, const char *text),
                  void *user, struct auth_audit_summary *summary, char *why, size_t why_size)
{
    struct verify verify = {.found = found, .user = user, .summary = summary};
    char **names;
    size_t count;
    memset(summary, 0, sizeof *summary);
    verify_head_read(&verify, folder); /* first: the log may grow meanwhile */
    GA_TRY(audit_line_files(folder, &names, &count, why, why_size));
    enum ga_status status = GA_OK;
    for (size_t i = 0; i < count && status == GA_OK; i++) {
        char path[PATH_MAX];
        verify.file = names[i];
        if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path) {
            status = file_verify(&verify, path, i + 1 == count, why, why_size);
        }
        summary->files++;
    }
    audit_line_files_free(names, count);
    GA_TRY(status);
    if (count == 0 && !verify.has_head) {
        snprintf(why, why_size, "there is no audit log in %s", folder);
        return GA_NOT_FOUND;
    }
    end_verify(&verify);
    summary->last = verify.last.seq;
    audit_line_hex(verify.last.hash, summary->hash);
    return GA_OK;
}

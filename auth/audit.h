/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: changes by admins, admissions and refusals; a part of auth.h.
 *
 * A folder has a file for each day (UTC), audit-2026-11-25.log, of JSON objects, one in a line, and
 * the file `head`. Each line has a number (`seq`) and `hash`: the SHA-256 of the hash of the line
 * before and of the line itself without its hash. A line that is changed, missing, or at another
 * place is therefore found by auth_audit_verify. `head` has number and hash of the last line that
 * is known to be on the disk, so that lines missing at the end are found, too. The first line of
 * a file repeats the hash before it; files of old days may be moved away from the beginning.
 *
 * Note: there is no secret in this. A user that may write the folder can compute all hashes again,
 * unless one is kept elsewhere: auth_audit_verify tells the last one. */
#ifndef AUTH_AUDIT_H
#define AUTH_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define AUTH_AUDIT_HEX        65u /* of a hash as text, with its end */
#define AUTH_AUDIT_FIELDS_MAX 16u
#define AUTH_AUDIT_VALUE_MAX  512u /* bytes of a text; the rest is cut off */

struct auth_audit;

/* A member of a line. A text may be anything; control characters are escaped. */
struct auth_field {
    const char *key;  /* a literal; not time, seq, event, hash */
    const char *text; /* NULL: the number */
    int64_t number;
};
#define AUTH_TEXT(key_, text_)     ((struct auth_field){.key = (key_), .text = (text_)})
#define AUTH_NUMBER(key_, number_) ((struct auth_field){.key = (key_), .number = (number_)})

/* Whether nobody else may write the log: its folder and its files are the caller's, or root's, and
 * neither group nor others may write them. GA_OK also if there is no such folder. GA_DENIED, with
 * `why`: what is wrong, and the mode or owner that it needs. */
GA_CHECKED enum ga_status auth_audit_check(const char *folder, char *why, size_t why_size);

/* Opens the log for writing (if auth_audit_check allows it), and makes its folder (mode 0700) if
 * need be. A line that was not written to its end, because the machine or the program stopped, is
 * taken away, and a line `audit.torn` says what it was. If acknowledged lines are missing, a line
 * `audit.gap` says so, and the numbers have a gap for ever. GA_CONFLICT: another process writes it.
 * GA_DENIED, GA_NO_MEMORY (also a full disk), GA_LOST. `now_ms`: milliseconds since 1970. */
GA_CHECKED enum ga_status auth_audit_open(const char *folder, int64_t now_ms,
                                          struct auth_audit **out, char *why, size_t why_size);
void auth_audit_close(struct auth_audit *audit);

/* Adds a line. `durable`: it is on the disk when this returns; otherwise after the next tick.
 * GA_NO_MEMORY: the disk is full (or there is no memory); GA_LOST: it fails. Nothing of the line is
 * there then, the line is counted as lost, and auth_audit_works says false until a tick succeeds;
 * admission should stop as long. */
GA_CHECKED enum ga_status auth_audit_write(struct auth_audit *audit, int64_t now_ms,
                                           const char *event, const struct auth_field *fields,
                                           size_t count, bool durable);
/* Whose failures anybody, or any program, can make many of. One kind keeps no line of the other
 * out. */
enum auth_audit_storm {
    AUTH_AUDIT_STRANGERS, /* who fail to say who they are; `auth.left_out` */
    AUTH_AUDIT_PROGRAMS,  /* that are known, and refused; `session.left_out` */
    AUTH_AUDIT_STORMS
};
/* For these: a hundred lines at once, then one a second; the next one that is written says how many
 * were left out. A line that was left out is GA_OK. */
GA_CHECKED enum ga_status auth_audit_write_failure(struct auth_audit *audit,
                                                   enum auth_audit_storm storm, int64_t now_ms,
                                                   const char *event,
                                                   const struct auth_field *fields, size_t count);
/* To be called every second: lines reach the disk, and a log that has failed is tried again; if it
 * works, a line `audit.resumed` says how many were lost. Returns whether the log works. */
bool auth_audit_tick(struct auth_audit *audit, int64_t now_ms);
/* auth_audit_tick in parts, for a caller that cannot wait for the disk: auth_audit_turn waits for
 * nothing; auth_audit_sync_begin takes the lines that are not on the disk so far (NULL: there are
 * none, and it is not wanted `anyway`; or some are under way); any thread writes them there by
 * auth_audit_sync_run; and auth_audit_sync_end tells whether they are there. Lines may be added
 * meanwhile, none durable. */
struct auth_audit_sync;
void auth_audit_turn(struct auth_audit *audit, int64_t now_ms);
struct auth_audit_sync *auth_audit_sync_begin(struct auth_audit *audit, bool anyway);
void auth_audit_sync_run(struct auth_audit_sync *sync);
GA_CHECKED enum ga_status auth_audit_sync_end(struct auth_audit *audit);
bool auth_audit_works(const struct auth_audit *audit);
/* Lines that could not be written, since it was opened. */
uint64_t auth_audit_lost(const struct auth_audit *audit);
/* The reason of the last failure, with what to do; one line. */
const char *auth_audit_why(const struct auth_audit *audit);

struct auth_audit_summary {
    unsigned files;
    uint64_t lines, findings;
    uint64_t first, last; /* numbers; 0: no lines. `first` above 1: older files are elsewhere */
    uint64_t torn;        /* lines that a crash has cut, as noted; these are no findings */
    char hash[AUTH_AUDIT_HEX]; /* of the last line */
};

/* Looks through all files. `found` gets each finding: the file's name, the number of the line in it
 * (0: the whole file), and what is wrong with it. May run while the log is written. GA_OK: also
 * with findings. GA_NOT_FOUND: there is no log. */
GA_CHECKED enum ga_status
auth_audit_verify(const char *folder,
                  void (*found)(void *user, const char *file, uint64_t line, const char *text),
                  void *user, struct auth_audit_summary *summary, char *why, size_t why_size);

#endif

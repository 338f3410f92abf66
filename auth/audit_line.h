/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the audit log, their hashes, the names of its files. */
#ifndef AUTH_AUDIT_LINE_H
#define AUTH_AUDIT_LINE_H

#include "auth/audit.h"

#define AUDIT_HASH_BYTES 32u
/* 16 texts of 512 bytes, each byte as six (\u0001); with keys. The newline counts. */
#define AUDIT_LINE_MAX   65536u
#define AUDIT_NAME_BYTES 32u /* audit-2026-11-25.log */
#define AUDIT_HEAD       "head"
#define AUDIT_HEAD_BYTES 96u /* number, hash, newline; the rest is spaces */

/* A place in the chain. */
struct audit_link {
    uint64_t seq; /* 0: before the first line */
    uint8_t hash[AUDIT_HASH_BYTES];
};

struct audit_line {
    struct audit_link link;
    size_t body; /* bytes of the line before `,"hash":` */
    bool begins; /* it is an audit.begin, whose `previous` is: */
    uint8_t previous[AUDIT_HASH_BYTES];
    bool torn, gap; /* it is an audit.torn, an audit.gap */
};

/* Makes the line after `after`, with its newline; *link becomes its place. To be freed. NULL: no
 * memory. */
char *audit_line_make(const struct audit_link *after, int64_t now_ms, const char *event,
                      const struct auth_field *fields, size_t count, struct audit_link *link,
                      size_t *size);
/* Reads a line (without its newline) by its form. False: it is none. */
bool audit_line_read(const char *text, size_t size, struct audit_line *line);
/* Whether the line's hash is right after `before`. */
bool audit_line_follows(const char *text, const struct audit_line *line,
                        const uint8_t before[AUDIT_HASH_BYTES]);

void audit_line_hex(const uint8_t hash[AUDIT_HASH_BYTES], char hex[AUTH_AUDIT_HEX]);
/* "audit-2026-11-25.log"; days since 1970. */
void audit_line_file(int64_t day, char name[AUDIT_NAME_BYTES]);
bool audit_line_file_read(const char *name, int64_t *day);
void audit_line_head(const struct audit_link *link, char text[AUDIT_HEAD_BYTES]);
bool audit_line_head_read(const char *text, size_t size, struct audit_link *link);

/* The names of the log's files, oldest first; to be freed, each and all. GA_NOT_FOUND: there is no
 * such folder. */
GA_CHECKED enum ga_status audit_line_files(const char *folder, char ***names, size_t *count,
                                           char *why, size_t why_size);
void audit_line_files_free(char **names, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/audit_line.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/moment.h"

#define LINE_SUFFIX       ",\"hash\":\""
#define LINE_SUFFIX_BYTES (sizeof LINE_SUFFIX - 1 + 64 + 2) /* with the hash and `"}` */

void audit_line_hex(const uint8_t hash[AUDIT_HASH_BYTES], char hex[AUTH_AUDIT_HEX])
{
    for (unsigned i = 0; i < AUDIT_HASH_BYTES; i++) {
        snprintf(hex + (size_t)2 * i, 3, "%02x", hash[i]);
    }
}

static bool hex_read(const char *hex, uint8_t hash[AUDIT_HASH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 2 * AUDIT_HASH_BYTES; i++) {
        const char *digit = hex[i] != 0 ? strchr(digits, hex[i]) : NULL;
        if (digit == NULL) {
            return false;
        }
        hash[i / 2] = (uint8_t)(hash[i / 2] << 4 | (digit - digits));
    }
    return true;
}

/* SHA-256 of `before`, of the body, and of the brace that ends the line without its hash. */
static bool hash_of(const uint8_t *before, const char *body, size_t size, uint8_t *hash)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool fine = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, before, AUDIT_HASH_BYTES) == 1 &&
                EVP_DigestUpdate(context, body, size) == 1 &&
                EVP_DigestUpdate(context, "}", 1) == 1 &&
                EVP_DigestFinal_ex(context, hash, NULL) == 1;
    EVP_MD_CTX_free(context);
    return fine;
}

/* A text as JSON has it: cut off at AUTH_AUDIT_VALUE_MAX; what is no UTF-8 is shown as '?'. The
 * writer escapes control characters, all but DEL. */
static json_t *text_of(const char *text)
{
    char copy[AUTH_AUDIT_VALUE_MAX + 1];
    size_t length = strnlen(text, AUTH_AUDIT_VALUE_MAX);
    while (text[length] != 0 && length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
        length--; /* a character is whole or not there */
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    for (size_t i = 0; i < length; i++) {
        copy[i] = copy[i] == 0x7f ? '?' : copy[i];
    }
    json_t *made = json_string(copy);
    if (made != NULL) {
        return made;
    }
    for (size_t i = 0; i < length; i++) {
        copy[i] = (unsigned char)copy[i] >= 0x80 ? '?' : copy[i];
    }
    return json_string(copy);
}

static json_t *time_of(int64_t now_ms)
{
    char text[GA_MOMENT_BYTES];
    (void)ga_moment_write_ms(now_ms, text); /* "": there is no such date */
    return json_string(text);
}

/* The line without its hash. */
static char *body_make(uint64_t seq, int64_t now_ms, const char *event,
                       const struct auth_field *fields, size_t count)
{
    json_t *object = json_object();
    bool fine = object != NULL &&
                json_object_set_new(object, "seq", json_integer((json_int_t)seq)) == 0 &&
                json_object_set_new(object, "time", time_of(now_ms)) == 0 &&
                json_object_set_new(object, "event", text_of(event)) == 0;
    for (size_t i = 0; i < count && i < AUTH_AUDIT_FIELDS_MAX && fine; i++) {
        json_t *value = fields[i].text != NULL ? text_of(fields[i].text)
                                               : json_integer((json_int_t)fields[i].number);
        fine = json_object_set_new(object, fields[i].key, value) == 0;
    }
    char *body = fine ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(object);
    return body;
}

char *audit_line_make(const struct audit_link *after, int64_t now_ms, const char *event,
                      const struct auth_field *fields, size_t count, struct audit_link *link,
                      size_t *size)
{
    char *body = body_make(after->seq + 1, now_ms, event, fields, count);
    size_t length = body != NULL ? strlen(body) - 1 : 0; /* without the brace */
    char *line = body != NULL ? malloc(length + LINE_SUFFIX_BYTES + 2) : NULL;
    struct audit_link made = {.seq = after->seq + 1};
    if (line == NULL || !hash_of(after->hash, body, length, made.hash)) {
        free(body);
        free(line);
        return NULL;
    }
    char hex[AUTH_AUDIT_HEX];
    audit_line_hex(made.hash, hex);
    snprintf(line, length + LINE_SUFFIX_BYTES + 2, "%.*s%s%s\"}\n", (int)length, body, LINE_SUFFIX,
             hex);
    *size = length + LINE_SUFFIX_BYTES + 1;
    *link = made;
    free(body);
    return line;
}

bool audit_line_read(const char *text, size_t size, struct audit_line *line)
{
    struct audit_line read = {0};
    if (size <= LINE_SUFFIX_BYTES || size >= AUDIT_LINE_MAX) {
        return false;
    }
    read.body = size - LINE_SUFFIX_BYTES;
    const char *suffix = text + read.body;
    if (memcmp(suffix, LINE_SUFFIX, strlen(LINE_SUFFIX)) != 0 ||
        memcmp(text + size - 2, "\"}", 2) != 0 ||
        !hex_read(suffix + strlen(LINE_SUFFIX), read.link.hash)) {
        return false;
    }
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *seq = json_object_get(object, "seq");
    const char *event = json_string_value(json_object_get(object, "event"));
    const char *previous = json_string_value(json_object_get(object, "previous"));
    bool fine = json_is_integer(seq) && json_integer_value(seq) > 0 && event != NULL;
    if (fine) {
        read.link.seq = (uint64_t)json_integer_value(seq);
        read.torn = strcmp(event, "audit.torn") == 0;
        read.gap = strcmp(event, "audit.gap") == 0;
        read.begins = strcmp(event, "audit.begin") == 0 && previous != NULL &&
                      strlen(previous) == AUTH_AUDIT_HEX - 1 && hex_read(previous, read.previous);
    }
    json_decref(object);
    if (fine) {
        *line = read;
    }
    return fine;
}

bool audit_line_follows(const char *text, const struct audit_line *line,
                        const uint8_t before[AUDIT_HASH_BYTES])
{
    uint8_t hash[AUDIT_HASH_BYTES];
    return hash_of(before, text, line->body, hash) &&
           memcmp(hash, line->link.hash, sizeof hash) == 0;
}

void audit_line_file(int64_t day, char name[AUDIT_NAME_BYTES])
{
    time_t seconds = (time_t)(day * 86400);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(name, AUDIT_NAME_BYTES, "audit-%Y-%m-%d.log", &parts);
}

bool audit_line_file_read(const char *name, int64_t *day)
{
    struct tm parts = {0};
    char again[AUDIT_NAME_BYTES];
    const char *end = strptime(name, "audit-%Y-%m-%d.log", &parts);
    if (end == NULL || *end != 0) {
        return false;
    }
    *day = timegm(&parts) / 86400;
    audit_line_file(*day, again);
    return strcmp(name, again) == 0;
}

void audit_line_head(const struct audit_link *link, char text[AUDIT_HEAD_BYTES])
{
    char hex[AUTH_AUDIT_HEX], line[AUDIT_HEAD_BYTES + 1];
    audit_line_hex(link->hash, hex);
    snprintf(line, sizeof line, "%020" PRIu64 " %s%*s\n", link->seq, hex, 10, "");
    memcpy(text, line, AUDIT_HEAD_BYTES);
}

bool audit_line_head_read(const char *text, size_t size, struct audit_link *link)
{
    struct audit_link read = {0};
    char again[AUDIT_HEAD_BYTES];
    if (size != AUDIT_HEAD_BYTES || text[AUDIT_HEAD_BYTES - 1] != '\n') {
        return false;
    }
    read.seq = strtoull(text, NULL, 10);
    if (text[20] != ' ' || !hex_read(text + 21, read.hash)) {
        return false;
    }
    audit_line_head(&read, again);
    if (memcmp(again, text, sizeof again) != 0) {
        return false;
    }
    *link = read;
    return true;
}

static int is_log(const struct dirent *entry)
{
    int64_t day;
    return audit_line_file_read(entry->d_name, &day);
}

enum ga_status audit_line_files(const char *folder, char ***names, size_t *count, char *why,
                                size_t why_size)
{
    struct dirent **entries;
    int number = scandir(folder, &entries, is_log, alphasort);
    if (number < 0) {
        snprintf(why, why_size, "%s: %s", folder, strerror(errno));
        return errno == ENOENT || errno == ENOTDIR ? GA_NOT_FOUND
               : errno == ENOMEM                   ? GA_NO_MEMORY
                                                   : GA_DENIED;
    }
    char **made = calloc((size_t)number + 1, sizeof *made);
    bool fine = made != NULL;
    for (int i = 0; i < number; i++) {
        if (fine) {
            made[i] = strdup(entries[i]->d_name);
            fine = made[i] != NULL;
        }
        free(entries[i]);
    }
    free(entries);
    if (!fine) {
        audit_line_files_free(made, (size_t)number);
        snprintf(why, why_size, "there is no memory");
        return GA_NO_MEMORY;
    }
    *names = made;
    *count = (size_t)number;
    return GA_OK;
}

void audit_line_files_free(char **names, size_t count)
{
    for (size_t i = 0; names != NULL && i < count; i++) {
        free(names[i]);
    }
    free(names);
}

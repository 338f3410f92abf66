/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin/admin_writer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/moment.h"
#include "server/admin/admin_verb.h"

#define WRITER_BYTES 4096u

/* Room for so many more bytes. */
static bool writer_room(struct admin_writer *writer, size_t more)
{
    size_t room = writer->room != 0 ? writer->room : WRITER_BYTES;
    while (room - writer->used < more) {
        room *= 2;
    }
    if (room != writer->room && !writer->failed) {
        char *bytes = realloc(writer->bytes, room);
        writer->failed = bytes == NULL;
        if (bytes != NULL) {
            writer->bytes = bytes;
            writer->room = room;
        }
    }
    return !writer->failed;
}

void admin_writer_bytes(struct admin_writer *writer, const char *bytes, size_t size)
{
    if (writer_room(writer, size)) {
        memcpy(writer->bytes + writer->used, bytes, size);
        writer->used += size;
    }
}

static void writer_put(struct admin_writer *writer, char byte)
{
    admin_writer_bytes(writer, &byte, 1);
}

/* The comma behind another value, and the name. */
static void writer_name(struct admin_writer *writer, const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;
    if (!writer_room(writer, length + 4)) {
        return;
    }
    char *at = writer->bytes + writer->used;
    if (writer->used != 0 && at[-1] != '{' && at[-1] != '[') {
        *at++ = ',';
    }
    if (name != NULL) {
        *at++ = '"';
        memcpy(at, name, length);
        at += length;
        *at++ = '"';
        *at++ = ':';
    }
    writer->used = (size_t)(at - writer->bytes);
}

void admin_writer_begin(struct admin_writer *writer, const char *name)
{
    writer_name(writer, name);
    writer_put(writer, '{');
}

void admin_writer_end(struct admin_writer *writer)
{
    writer_put(writer, '}');
}

static void writer_null(struct admin_writer *writer)
{
    admin_writer_bytes(writer, "null", 4);
}

void admin_writer_number(struct admin_writer *writer, const char *name, uint64_t number)
{
    writer_name(writer, name);
    if (number > INT64_MAX) {
        writer_null(writer);
    } else if (writer_room(writer, GA_DIGITS_MAX)) {
        writer->used += ga_digits_write(number, writer->bytes + writer->used);
    }
}

/* How many bytes at the beginning stand in JSON as they are. */
static size_t writer_plain(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && text[at] >= ' ' && text[at] != '"' && text[at] != '\\') {
        at++; /* bytes beyond ASCII are negative, and looked at by jansson */
    }
    return at;
}

static void writer_string(struct admin_writer *writer, const char *text, size_t length)
{
    if (writer_plain(text, length) == length) {
        writer_put(writer, '"');
        admin_writer_bytes(writer, text, length);
        writer_put(writer, '"');
        return;
    }
    char *copy = strndup(text, length);
    json_t *value = copy != NULL ? admin_text_value(copy) : NULL;
    char *quoted = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (quoted != NULL) {
        admin_writer_bytes(writer, quoted, strlen(quoted));
    }
    writer->failed = writer->failed || quoted == NULL;
    free(quoted);
    json_decref(value);
    free(copy);
}

void admin_writer_text(struct admin_writer *writer, const char *name, const char *text)
{
    writer_name(writer, name);
    if (text != NULL) {
        writer_string(writer, text, strlen(text));
    } else {
        writer_null(writer);
    }
}

void admin_writer_time(struct admin_writer *writer, const char *name, int64_t seconds)
{
    char text[GA_MOMENT_BYTES];
    admin_writer_text(writer, name, seconds != 0 && ga_moment_write(seconds, text) ? text : NULL);
}

void admin_writer_words(struct admin_writer *writer, const char *name, const char *words)
{
    writer_name(writer, name);
    writer_put(writer, '[');
    while (*words != 0) {
        size_t length = strcspn(words, ",");
        writer_name(writer, NULL);
        writer_string(writer, words, length);
        words += length + (words[length] == ',');
    }
    writer_put(writer, ']');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is written from its beginning to its end, without a tree of it: a tree of the rows of
 * a long list takes several times as long as reading them from the database. */
#ifndef SERVER_ADMIN_ADMIN_WRITER_H
#define SERVER_ADMIN_ADMIN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin_writer {
    char *bytes; /* to be freed; not ended by 0 */
    size_t used, room;
    bool failed; /* there was no memory, and the text is of no use */
};

/* Begins and ends an object: a member, or without a name a value. */
void admin_writer_begin(struct admin_writer *writer, const char *name);
void admin_writer_end(struct admin_writer *writer);
/* Members, as admin_set_number and the others make them: a number past int64, a text that is NULL
 * and a time of 0 are null; a text that is not UTF-8 becomes one that is. Names are literals. */
void admin_writer_number(struct admin_writer *writer, const char *name, uint64_t number);
void admin_writer_text(struct admin_writer *writer, const char *name, const char *text);
void admin_writer_time(struct admin_writer *writer, const char *name, int64_t seconds);
/* A member that is an array of texts: the words of a list with commas. */
void admin_writer_words(struct admin_writer *writer, const char *name, const char *words);
/* Bytes as they are. */
void admin_writer_bytes(struct admin_writer *writer, const char *bytes, size_t size);

#endif

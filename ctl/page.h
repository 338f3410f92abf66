/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in pages, and their rows as they stand in the text: a list of 100,000 rows is printed in
 * about the time that gpuaasd needs to make it, which a tree of JSON would take several times. */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include "ctl/ctl.h"

#define CTL_KEY_BYTES 64u /* of a key, with its end */

/* A value of JSON: most are told by a number or a text, which is lent. */
struct ctl_value {
    enum { CTL_NOTHING, CTL_NUMBER, CTL_TEXT, CTL_TREE } kind;
    int64_t number;
    const char *text;
    json_t *tree; /* what is none of these: an array, true, a number with a point */
};

/* The value of a tree, which is borrowed. */
struct ctl_value ctl_value_of(json_t *tree);

/* The rows of a page: what stands between the brackets of its items. The text is changed when it is
 * read. */
struct ctl_page {
    char *at, *end;
    unsigned member; /* so many of the row have been read */
};

/* A member of the row before: rows have the same ones in the same order, as a rule. */
struct ctl_seen {
    char key[CTL_KEY_BYTES];
    size_t length;           /* 0: there was none */
    struct ctl_value *value; /* where its value goes; NULL: nowhere */
    bool inner;              /* members of it are wanted */
};
#define CTL_SEEN_MAX 64u

/* Which members of rows are wanted: keys with dots. The values of a row that are not there are
 * CTL_NOTHING. */
struct ctl_members {
    const char *const *keys;
    size_t count;
    struct ctl_value *values; /* of as many */
    struct ctl_seen *seen;    /* of CTL_SEEN_MAX, zeroed at first */
};

/* The next row. False: there is none, or it makes no sense (ctl_page_ended tells which). Trees of
 * the values are the caller's: ctl_members_free. */
bool ctl_page_row(struct ctl_page *page, const struct ctl_members *members);
bool ctl_page_ended(const struct ctl_page *page);
void ctl_members_free(const struct ctl_members *members);

/* Asks for all pages of a list; `each` gets one while gpuaasd makes the next one, and returns
 * whether it has made sense. `arguments` is taken. An error has been told. */
enum admin_code ctl_page_each(const struct ctl_line *line, const char *verb, json_t *arguments,
                              bool (*each)(void *user, struct ctl_page *page), void *user);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Note: all of a page is looked at before any of its end is trusted: what is no JSON is told, and
 * no byte beyond its end is read. */
#include "ctl/page.h"

#include <string.h>

#include "ctl/link.h"

#define PAGE_DEPTH_MAX 8u /* of objects in a row */

/* ---- values in the text: `at` goes behind them, as far as `end` */

static bool page_takes(struct ctl_page *page, char byte)
{
    bool is = page->at < page->end && *page->at == byte;
    page->at += is;
    return is;
}

/* Behind the first quote. *plain: no character is escaped. */
static bool string_skip(struct ctl_page *page, bool *plain)
{
    *plain = true;
    for (;;) {
        char *quote = memchr(page->at, '"', (size_t)(page->end - page->at));
        char *end = quote != NULL ? quote : page->end;
        char *escape = memchr(page->at, '\\', (size_t)(end - page->at));
        if (escape == NULL) {
            page->at = end;
            return page_takes(page, '"');
        }
        *plain = false;
        page->at = escape + (page->end - escape > 1 ? 2 : 1);
    }
}

/* Brackets need only be as many of both kinds: jansson reads what is used of them. */
static bool tree_skip(struct ctl_page *page)
{
    unsigned depth = 0;
    bool plain;
    do {
        if (page->at == page->end) {
            return false;
        }
        char byte = *page->at++;
        if (byte == '"' && !string_skip(page, &plain)) {
            return false;
        }
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
    } while (depth != 0);
    return true;
}

static bool word_skip(struct ctl_page *page)
{
    const char *begin = page->at;
    while (page->at < page->end && *page->at != ',' && *page->at != ']' && *page->at != '}') {
        page->at++;
    }
    return page->at != begin;
}

/* 18 digits are always in range; jansson reads longer ones. */
static bool page_number(const char *begin, const char *end, int64_t *number)
{
    int64_t value = 0;
    const char *at = begin;
    if (end - begin > 18) {
        return false;
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (*at - '0');
    }
    *number = value;
    return at == end && at != begin;
}

static bool page_tree(const char *begin, const char *end, struct ctl_value *value)
{
    json_t *tree = json_loadb(begin, (size_t)(end - begin), JSON_DECODE_ANY, NULL);
    if (json_is_integer(tree)) {
        *value = (struct ctl_value){.kind = CTL_NUMBER, .number = json_integer_value(tree)};
        json_decref(tree);
        return true;
    }
    *value = (struct ctl_value){.kind = CTL_TREE, .tree = tree};
    return tree != NULL;
}

/* `value` NULL: it is not wanted. */
static bool page_value(struct ctl_page *page, struct ctl_value *value)
{
    char *begin = page->at;
    bool plain = false;
    if (page_takes(page, '"')) {
        if (!string_skip(page, &plain)) {
            return false;
        }
        if (value != NULL && plain) {
            page->at[-1] = 0; /* in the place of the quote */
            *value = (struct ctl_value){.kind = CTL_TEXT, .text = begin + 1};
            return true;
        }
    } else if (begin < page->end && (*begin == '{' || *begin == '[')) {
        if (!tree_skip(page)) {
            return false;
        }
    } else if (!word_skip(page)) {
        return false;
    }
    if (value == NULL) {
        return true;
    }
    int64_t number;
    if (page_number(begin, page->at, &number)) {
        *value = (struct ctl_value){.kind = CTL_NUMBER, .number = number};
        return true;
    }
    if (page->at - begin == 4 && memcmp(begin, "null", 4) == 0) {
        *value = (struct ctl_value){.kind = CTL_NOTHING};
        return true;
    }
    return page_tree(begin, page->at, value);
}

/* ---- rows */

struct ctl_value ctl_value_of(json_t *tree)
{
    return json_is_integer(tree)
               ? (struct ctl_value){.kind = CTL_NUMBER, .number = json_integer_value(tree)}
           : json_is_string(tree)
               ? (struct ctl_value){.kind = CTL_TEXT, .text = json_string_value(tree)}
           : tree == NULL || json_is_null(tree)
               ? (struct ctl_value){.kind = CTL_NOTHING}
               : (struct ctl_value){.kind = CTL_TREE, .tree = tree};
}

/* Finds where the value of this key goes. */
static void page_look(const struct ctl_members *members, struct ctl_seen *seen)
{
    seen->value = NULL;
    seen->inner = false;
    for (size_t i = 0; seen->length != 0 && i < members->count; i++) {
        const char *wanted = members->keys[i];
        if (strnlen(wanted, seen->length) == seen->length &&
            memcmp(wanted, seen->key, seen->length) == 0) {
            seen->value = wanted[seen->length] == 0 ? &members->values[i] : seen->value;
            seen->inner = seen->inner || wanted[seen->length] == '.';
        }
    }
}

/* Behind a key, if it is the one that the row before has had here; `length` bytes of that are the
 * key of its parents. */
static bool seen_skip(struct ctl_page *page, const struct ctl_seen *seen, const char *parents,
                      size_t length)
{
    size_t own = seen->length - length;
    if (seen->length <= length || (size_t)(page->end - page->at) < own + 3 ||
        memcmp(page->at + 1, seen->key + length, own) != 0 || page->at[0] != '"' ||
        page->at[own + 1] != '"' || page->at[own + 2] != ':' ||
        memcmp(seen->key, parents, length) != 0) {
        return false;
    }
    page->at += own + 3;
    return true;
}

/* Takes a key, which goes behind that of its parents, and its colon; returns its member, as it is
 * known from the row before, or is found. NULL: there is no key. */
static const struct ctl_seen *page_member(struct ctl_page *page, const struct ctl_members *members,
                                          char key[CTL_KEY_BYTES], size_t length)
{
    unsigned number = page->member < CTL_SEEN_MAX ? page->member : CTL_SEEN_MAX - 1;
    struct ctl_seen *seen = &members->seen[number];
    const char *begin = page->at + 1;
    bool plain;
    page->member++;
    if (seen_skip(page, seen, key, length)) {
        return seen;
    }
    if (!page_takes(page, '"') || !string_skip(page, &plain) || !page_takes(page, ':')) {
        return NULL;
    }
    size_t own = (size_t)(page->at - 2 - begin);
    if (length + own + 1 >= CTL_KEY_BYTES) {
        return NULL;
    }
    memcpy(seen->key, key, length);
    memcpy(seen->key + length, begin, own);
    seen->length = length + own;
    page_look(members, seen);
    return seen;
}

/* The members of an object, whose first bracket is at page->at. `key`: of its parents, `length`
 * bytes, with a dot at the end. */
static bool object_read(struct ctl_page *page, const struct ctl_members *members,
                        char key[CTL_KEY_BYTES], size_t length, unsigned depth)
{
    if (!page_takes(page, '{') || depth == PAGE_DEPTH_MAX) {
        return false;
    }
    while (!page_takes(page, '}')) {
        const struct ctl_seen *seen = page_member(page, members, key, length);
        if (seen == NULL) {
            return false;
        }
        struct ctl_value *value = seen->value;
        if (value != NULL && value->kind == CTL_TREE) { /* it is there twice */
            json_decref(value->tree);
            value->kind = CTL_NOTHING;
        }
        if (value == NULL && seen->inner && page->at < page->end && *page->at == '{') {
            size_t whole = seen->length;
            memcpy(key + length, seen->key + length, whole - length);
            key[whole] = '.';
            if (!object_read(page, members, key, whole + 1, depth + 1)) {
                return false;
            }
        } else if (!page_value(page, value)) {
            return false;
        }
        if (!page_takes(page, ',') && (page->at == page->end || *page->at != '}')) {
            return false;
        }
    }
    return true;
}

void ctl_members_free(const struct ctl_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        if (members->values[i].kind == CTL_TREE) {
            json_decref(members->values[i].tree);
        }
    }
    memset(members->values, 0, members->count * sizeof *members->values);
}

bool ctl_page_row(struct ctl_page *page, const struct ctl_members *members)
{
    char key[CTL_KEY_BYTES];
    if (page->at == page->end) {
        return false;
    }
    page->member = 0;
    memset(members->values, 0, members->count * sizeof *members->values);
    bool read = object_read(page, members, key, 0, 0) &&
                (page_takes(page, ',') ? page->at != page->end : page->at == page->end);
    if (!read) {
        ctl_members_free(members);
        page->at = NULL;
    }
    return read;
}

bool ctl_page_ended(const struct ctl_page *page)
{
    return page->at == page->end;
}

/* ---- pages */

/* {"apiVersion":1,"id":1,"ok":true,"result":{"next":null,"items":[...]}}: as gpuaasd writes it, the
 * rows last. False: it is anything else, such as an error. */
static bool page_open(char *text, size_t size, struct ctl_page *page, struct ctl_value *next)
{
    static const char before[] = "\"items\":[", behind[] = "]}}";
    static const char result[] = "\"ok\":true,\"result\":{\"next\":";
    char *ok = memmem(text, size < 200 ? size : 200, result, sizeof result - 1);
    if (ok == NULL || size < sizeof behind - 1 ||
        memcmp(text + size - (sizeof behind - 1), behind, sizeof behind - 1) != 0) {
        return false;
    }
    *page =
        (struct ctl_page){.at = ok + sizeof result - 1, .end = text + size - (sizeof behind - 1)};
    if (!page_value(page, next) || !page_takes(page, ',') ||
        page->end - page->at < (ptrdiff_t)sizeof before - 1 ||
        memcmp(page->at, before, sizeof before - 1) != 0) {
        return false;
    }
    page->at += sizeof before - 1;
    return next->kind == CTL_TEXT || next->kind == CTL_NOTHING;
}

static enum admin_code page_none(void)
{
    ctl_link_end();
    return ctl_wrong(ADMIN_ERROR,
                     "the answer of gpuaasd makes no sense: is it another program, or another "
                     "release?");
}

/* Asks for the page behind `after`. */
static enum admin_code page_ask(const struct ctl_line *line, const char *verb, json_t *arguments,
                                const char *after)
{
    char why[1000];
    json_t *own = json_deep_copy(arguments);
    if (after != NULL) {
        own = own != NULL ? own : json_object();
        (void)json_object_set_new(own, "after", json_string(after));
    }
    enum admin_code code = ctl_ask_send(line, verb, own, why, sizeof why);
    return code == ADMIN_OK ? ADMIN_OK : ctl_wrong(code, "%s", why);
}

static enum admin_code page_each(const struct ctl_line *line, const char *verb, json_t *arguments,
                                 bool (*each)(void *user, struct ctl_page *page), void *user)
{
    bool more = true;
    enum admin_code code = page_ask(line, verb, arguments, NULL);
    while (code == ADMIN_OK && more) {
        char *text, why[1000];
        size_t size;
        struct ctl_page page;
        struct ctl_value next;
        code = ctl_link_receive_line(&text, &size, why, sizeof why);
        if (code != ADMIN_OK) {
            ctl_link_end();
            return ctl_wrong(code, "%s", why);
        }
        if (!page_open(text, size, &page, &next)) {
            code = ctl_ask_wrong(text, size, why, sizeof why);
            return code != ADMIN_OK ? ctl_wrong(code, "%s", why) : page_none();
        }
        more = next.kind == CTL_TEXT;
        if (more) {
            code = page_ask(line, verb, arguments, next.text);
        }
        if (code == ADMIN_OK && !each(user, &page)) {
            return page_none();
        }
    }
    return code;
}

enum admin_code ctl_page_each(const struct ctl_line *line, const char *verb, json_t *arguments,
                              bool (*each)(void *user, struct ctl_page *page), void *user)
{
    enum admin_code code = page_each(line, verb, arguments, each, user);
    json_decref(arguments);
    return code;
}

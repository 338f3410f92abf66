/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of tenants and programs, made harmless for terminals: no control character, nothing that
 * turns the direction of the line, nothing invisible. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"
#include "ctl/ctl.h"

#define ESCAPED_MAX 10u /* bytes: "\u{10ffff}" */

/* How many bytes at the beginning are ASCII that can be printed, a column each. */
static size_t text_plain(const char *text)
{
    size_t length = 0;
    while (text[length] >= ' ' && text[length] <= '~') {
        length++;
    }
    return length;
}

bool ctl_text_is_plain(const char *text)
{
    return text[text_plain(text)] == 0;
}

char *ctl_text_safe(const char *text)
{
    char *safe = malloc(strlen(text) * ESCAPED_MAX + 1), *to = safe;
    for (const char *at = text; safe != NULL && *at != 0;) {
        uint32_t character = 0;
        size_t bytes = ga_text_character(at, &character);
        if (bytes != 0 && ga_text_is_safe(character)) {
            memcpy(to, at, bytes);
            to += bytes;
        } else if (bytes > 1) {
            to += sprintf(to, "\\u{%x}", character);
        } else {
            to += sprintf(to, "\\x%02x", (unsigned char)*at);
        }
        at += bytes != 0 ? bytes : 1;
    }
    if (safe != NULL) {
        *to = 0;
    }
    return safe;
}

unsigned ctl_text_columns(const char *text)
{
    size_t plain = text_plain(text);
    unsigned columns = (unsigned)plain;
    for (const char *at = text + plain; *at != 0;) {
        uint32_t character = 0;
        size_t bytes = ga_text_character(at, &character);
        int width = bytes > 1 ? wcwidth((wchar_t)character) : 1;
        columns += width < 0 ? 1u : (unsigned)width;
        at += bytes != 0 ? bytes : 1;
    }
    return columns;
}

size_t ctl_text_fit(const char *text, size_t size, unsigned columns)
{
    size_t at = 0;
    unsigned used = 0;
    while (at < size) {
        uint32_t character = 0;
        size_t bytes = ga_text_character(text + at, &character);
        int width = bytes > 1 ? wcwidth((wchar_t)character) : 1;
        used += width < 0 ? 1u : (unsigned)width;
        if (used > columns) {
            break;
        }
        at += bytes != 0 ? bytes : 1;
    }
    return at < size ? at : size;
}

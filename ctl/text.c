/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of tenants and programs, made harmless for terminals: no control character, nothing that
 * turns the direction of the line, nothing invisible. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "ctl/ctl.h"

#define ESCAPED_MAX 10u /* bytes: "\u{10ffff}" */

/* Reads a character of UTF-8. Returns its bytes; 0: none begins here (Unicode, table 3-7). */
static size_t character_read(const unsigned char *at, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (bytes == 0 || at[0] > 0xf4) {
        return 0;
    }
    uint32_t value = bytes == 1 ? at[0] : at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (at[i] & 0x3fu);
    }
    if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        return 0;
    }
    *character = value;
    return bytes;
}

static bool is_harmless(uint32_t at)
{
    return at >= 0x20 && (at < 0x7f || at > 0x9f) &&     /* controls */
           at != 0xad && (at < 0x200b || at > 0x200f) && /* invisible, and marks of direction */
           (at < 0x2028 || at > 0x202e) && (at < 0x2060 || at > 0x206f) && at != 0xfeff &&
           (at < 0xfff0 || at > 0xfffb) && (at < 0xe0000 || at > 0xe0fff);
}

char *ctl_text_safe(const char *text)
{
    char *safe = malloc(strlen(text) * ESCAPED_MAX + 1), *to = safe;
    for (const unsigned char *at = (const unsigned char *)text; safe != NULL && *at != 0;) {
        uint32_t character = 0;
        size_t bytes = character_read(at, &character);
        if (bytes != 0 && is_harmless(character)) {
            memcpy(to, at, bytes);
            to += bytes;
        } else if (bytes > 1) {
            to += sprintf(to, "\\u{%x}", character);
        } else {
            to += sprintf(to, "\\x%02x", *at);
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
    unsigned columns = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != 0;) {
        uint32_t character = 0;
        size_t bytes = character_read(at, &character);
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
        size_t bytes = character_read((const unsigned char *)text + at, &character);
        int width = bytes > 1 ? wcwidth((wchar_t)character) : 1;
        used += width < 0 ? 1u : (unsigned)width;
        if (used > columns) {
            break;
        }
        at += bytes != 0 ? bytes : 1;
    }
    return at < size ? at : size;
}

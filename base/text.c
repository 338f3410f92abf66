/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <string.h>

size_t ga_text_character(const char *text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (bytes == 0 || at[0] > 0xf4) {
        return 0;
    }
    uint32_t value = bytes == 1 ? at[0] : at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* a NUL, too */
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

bool ga_text_is_safe(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } unsafe[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},     /* controls */
        {0xad, 0xad},       {0x61c, 0x61c},   /* soft hyphen, Arabic letter mark */
        {0x180e, 0x180e},   {0x200b, 0x200f}, /* invisible; marks of direction */
        {0x2028, 0x202e},   {0x2060, 0x206f}, /* ends of lines; turns of direction */
        {0xfeff, 0xfeff},   {0xfff0, 0xfffb}, /* byte order mark; specials */
        {0xe0000, 0xe0fff},                   /* tags */
    };
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        if (character >= unsafe[i].first && character <= unsafe[i].last) {
            return false;
        }
    }
    return true;
}

/* The bytes at `at` that are one character, or are to be replaced by one. */
static size_t text_step(const char *at, bool *safe)
{
    uint32_t character;
    size_t bytes = ga_text_character(at, &character);
    *safe = bytes != 0 && ga_text_is_safe(character);
    return bytes != 0 ? bytes : 1;
}

void ga_text_clean(char *text)
{
    char *to = text;
    for (const char *at = text; *at != 0;) {
        bool safe;
        size_t bytes = text_step(at, &safe);
        if (safe) {
            memmove(to, at, bytes);
            to += bytes;
        } else {
            *to++ = '?';
        }
        at += bytes;
    }
    *to = 0;
}

bool ga_text_is_clean(const char *text)
{
    bool safe = true;
    while (*text != 0 && safe) {
        text += text_step(text, &safe);
    }
    return safe;
}

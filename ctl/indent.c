/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/indent.h"

#include <string.h>

#include "api/admin.h"
#include "base/text.h"

#define INDENT_ROW 2u /* depth of a row */

static void line_begin(FILE *out, unsigned depth)
{
    static const char spaces[] = "\n                                ";
    size_t size = 1 + 2 * (size_t)depth;
    (void)fwrite_unlocked(spaces, 1, size < sizeof spaces ? size : sizeof spaces - 1, out);
}

void ctl_indent_begin(const struct ctl_indent *indent, const char *kind)
{
    fprintf(indent->out, "{\n  \"apiVersion\": %d,\n  \"kind\": \"%s\",\n  \"items\": [",
            ADMIN_VERSION, kind);
}

void ctl_indent_end(const struct ctl_indent *indent)
{
    if (indent->any) {
        line_begin(indent->out, INDENT_ROW - 1);
    }
    fputs("]\n}\n", indent->out);
}

/* A character beyond ASCII, escaped: C1 controls act on terminals, too. */
static bool character_write(FILE *out, struct ctl_page *page)
{
    uint32_t character;
    size_t bytes = ga_text_character(page->at, &character);
    if (bytes == 0) {
        return false;
    }
    if (character >= 0x10000) {
        character -= 0x10000;
        fprintf(out, "\\u%04X\\u%04X", 0xd800 + (character >> 10), 0xdc00 + (character & 0x3ff));
    } else {
        fprintf(out, "\\u%04X", character);
    }
    page->at += bytes;
    return true;
}

/* From the first quote to the last. Escapes stay as they are. */
static bool string_write(FILE *out, struct ctl_page *page)
{
    const char *from = page->at++;
    while (page->at < page->end && *page->at != '"') {
        bool escape = *page->at == '\\' && page->end - page->at > 1;
        char byte = escape ? page->at[1] : *page->at;
        if ((byte < ' ' && byte >= 0) || (escape && byte < 0)) {
            return false;
        }
        if (*page->at < 0) {
            (void)fwrite_unlocked(from, 1, (size_t)(page->at - from), out);
            if (!character_write(out, page)) {
                return false;
            }
            from = page->at;
        } else {
            page->at += escape ? 2 : 1;
        }
    }
    if (page->at >= page->end) {
        return false;
    }
    page->at++;
    (void)fwrite_unlocked(from, 1, (size_t)(page->at - from), out);
    return true;
}

/* A bracket, and where the line behind it begins. */
static bool bracket_write(FILE *out, struct ctl_page *page, unsigned *depth)
{
    char byte = *page->at++;
    bool opens = byte == '{' || byte == '[';
    if (opens) {
        (void)putc_unlocked(byte, out);
        if (page->at < page->end && (*page->at == '}' || *page->at == ']')) {
            (void)putc_unlocked(*page->at++, out);
        } else {
            line_begin(out, ++*depth);
        }
        return true;
    }
    if (*depth == INDENT_ROW) {
        return false;
    }
    line_begin(out, --*depth);
    (void)putc_unlocked(byte, out);
    return true;
}

static bool token_write(FILE *out, struct ctl_page *page, unsigned *depth)
{
    switch (*page->at) {
    case '"':
        return string_write(out, page);
    case '{':
    case '[':
    case '}':
    case ']':
        return bracket_write(out, page, depth);
    case ',':
        page->at++;
        (void)putc_unlocked(',', out);
        line_begin(out, *depth);
        return true;
    case ':':
        page->at++;
        (void)fputs_unlocked(": ", out);
        return true;
    default:
        if (*page->at < ' ' || *page->at > '~') {
            return false;
        }
        (void)putc_unlocked(*page->at++, out);
        return true;
    }
}

bool ctl_indent_rows(struct ctl_indent *indent, struct ctl_page *page)
{
    unsigned depth = INDENT_ROW;
    if (page->at == page->end) {
        return true;
    }
    if (indent->any) {
        (void)putc_unlocked(',', indent->out);
    }
    indent->any = true;
    line_begin(indent->out, depth);
    while (page->at < page->end) {
        if (!token_write(indent->out, page, &depth)) {
            return false;
        }
    }
    return depth == INDENT_ROW;
}

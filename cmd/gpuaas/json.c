/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, indented by two columns. Names are ours and need no escapes; texts may come from a
 * server and contain anything. */
#include "cmd/gpuaas/json.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/text.h"

static void member_begin(struct cmd_json *json, const char *name)
{
    if (json->filled) {
        fputc(',', json->out);
    }
    if (json->depth != 0) {
        fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    }
    if (name != NULL) {
        fprintf(json->out, "\"%s\": ", name);
    }
    json->filled = true;
}

void cmd_json_open(struct cmd_json *json, const char *name, char kind)
{
    member_begin(json, name);
    fputc(kind, json->out);
    json->depth++;
    json->filled = false;
}

void cmd_json_close(struct cmd_json *json, char kind)
{
    json->depth--;
    if (json->filled) {
        fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    }
    fputc(kind, json->out);
    json->filled = true;
    if (json->depth == 0) {
        fputc('\n', json->out);
    }
}

/* For characters that a terminal must not get (RFC 8259, section 7). */
static void character_escape(FILE *out, uint32_t character)
{
    if (character > 0xffff) {
        fprintf(out, "\\u%04x", (unsigned)(0xd800 + ((character - 0x10000) >> 10)));
        character = 0xdc00 + ((character - 0x10000) & 0x3ff);
    }
    fprintf(out, "\\u%04x", (unsigned)character);
}

void cmd_json_text(struct cmd_json *json, const char *name, const char *text)
{
    member_begin(json, name);
    if (text == NULL) {
        fputs("null", json->out);
        return;
    }
    fputc('"', json->out);
    for (const char *at = text; *at != 0;) {
        uint32_t character;
        size_t bytes = ga_text_character(at, &character);
        if (bytes == 0) {
            fputs("\\ufffd", json->out);
            bytes = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(json->out, "\\%c", *at);
        } else if (!ga_text_is_safe(character)) {
            character_escape(json->out, character);
        } else {
            fwrite(at, 1, bytes, json->out);
        }
        at += bytes;
    }
    fputc('"', json->out);
}

void cmd_json_number(struct cmd_json *json, const char *name, uint64_t number)
{
    member_begin(json, name);
    fprintf(json->out, "%" PRIu64, number);
}

void cmd_json_flag(struct cmd_json *json, const char *name, bool flag)
{
    member_begin(json, name);
    fputs(flag ? "true" : "false", json->out);
}

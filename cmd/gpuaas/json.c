/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, indented by two columns. Names are ours and need no escapes; texts may come from a
 * server and contain anything. */
#include "cmd/gpuaas/json.h"

#include <inttypes.h>
#include <stddef.h>

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

/* The length of the UTF-8 character that begins here; 0: none does (Unicode, table 3-7). */
static size_t character_bytes(const unsigned char *at)
{
    if (at[0] < 0x80) {
        return 1;
    }
    unsigned least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    size_t bytes = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                   : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                    : 0;
    if (bytes == 0 || at[1] < least || at[1] > most) {
        return 0;
    }
    for (size_t i = 2; i < bytes; i++) {
        if (at[i] < 0x80 || at[i] > 0xbf) {
            return 0;
        }
    }
    return bytes;
}

void cmd_json_text(struct cmd_json *json, const char *name, const char *text)
{
    member_begin(json, name);
    if (text == NULL) {
        fputs("null", json->out);
        return;
    }
    fputc('"', json->out);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0;) {
        size_t bytes = character_bytes(at);
        if (bytes == 0) {
            fputs("\\ufffd", json->out);
            bytes = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(json->out, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(json->out, "\\u%04x", *at);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of JSON (RFC 8259) for `--json`. A few objects are not worth another library on
 * users' machines. */
#ifndef CMD_GPUAAS_JSON_H
#define CMD_GPUAAS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cmd_json {
    FILE *out;
    unsigned depth;
    bool filled; /* the open object or array has a member */
};

/* `name` NULL: a member of an array, or the whole. `kind`: '{' or '['. */
void cmd_json_open(struct cmd_json *json, const char *name, char kind);
void cmd_json_close(struct cmd_json *json, char kind); /* '}' or ']' */
/* `text` NULL: null. Invalid UTF-8 becomes U+FFFD. */
void cmd_json_text(struct cmd_json *json, const char *name, const char *text);
void cmd_json_number(struct cmd_json *json, const char *name, uint64_t number);
void cmd_json_flag(struct cmd_json *json, const char *name, bool flag);

#endif

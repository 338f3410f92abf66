/* SPDX-License-Identifier: Apache-2.0 */
/* The example file, written from the table of keys. Keys that must be given are given; the others
 * are commented out and show their defaults. */
#include <string.h>

#include "conf/key.h"

#define EXAMPLE_COLUMNS 98

/* Writes `text` as comment lines. */
static void comment_write(FILE *out, const char *text)
{
    while (*text != 0) {
        size_t length = strlen(text);
        if (length > EXAMPLE_COLUMNS - 2) {
            length = EXAMPLE_COLUMNS - 2;
            while (length > 1 && text[length] != ' ') {
                length--;
            }
        }
        fprintf(out, "; %.*s\n", (int)length, text);
        text += length;
        while (*text == ' ') {
            text++;
        }
    }
}

static void example_section_write(FILE *out, enum conf_section section)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (key->section != section) {
            continue;
        }
        char allowed[300];
        snprintf(allowed, sizeof allowed, "Allowed: %s.%s%s", conf_key_allowed(key),
                 key->change == CONF_CHANGE_RELOAD ? " A reload is enough." : "",
                 key->drivers == CONF_DRIVERS_SOFT     ? " Only with driver = soft."
                 : key->drivers == CONF_DRIVERS_NVIDIA ? " Only with driver = nvidia."
                                                       : "");
        fputc('\n', out);
        comment_write(out, conf_key_help(key));
        comment_write(out, allowed);
        if (key->standard != NULL) {
            fprintf(out, ";%s = %s\n", key->name, key->standard);
        } else {
            fprintf(out, "%s = %s\n", key->name,
                    section == CONF_SECTION_SERVER ? "tcp://127.0.0.1:9955" : "soft");
        }
    }
}

void conf_example_write(FILE *out)
{
    char line[80];
    comment_write(
        out, "Configuration of gpuaasd. Keys that are not commented out must be given; the "
             "others show their defaults. A changed value needs a restart of gpuaasd, or, where "
             "it says so, a reload (SIGHUP): then it holds for what begins afterwards. Written by"
             " gpuaasd --example-config.");
    fprintf(out, "\n[server]\n");
    example_section_write(out, CONF_SECTION_SERVER);
    fputc('\n', out);
    snprintf(line, sizeof line, "One section for each GPU, [gpu.0] to [gpu.%u].",
             CONF_GPUS_MAX - 1);
    comment_write(out, line);
    fprintf(out, "[gpu.0]\n");
    example_section_write(out, CONF_SECTION_GPU);
}

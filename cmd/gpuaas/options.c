/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all sub-commands: one table for the parser and for --help. */
#include <stdio.h>
#include <string.h>

#include "cmd/gpuaas/cmd.h"

struct option {
    const char *name;
    const char *value; /* its name in --help; NULL: the option takes no value */
    size_t offset; /* in struct cmd_options: of a text, or of a flag if the option takes no value */
    const char *help; /* lines */
};

static const struct option options[] = {
    {"--servers", "LIST", offsetof(struct cmd_options, servers),
     "HOST[:PORT],... ; without it, the environment's GPUAAS_SERVERS"},
    {"--devices", "LIST", offsetof(struct cmd_options, devices),
     "which of the servers' devices to use, and in which order: numbers from 0,\n"
     "or UUIDs; without it, the environment's GPUAAS_DEVICES, or all"},
    {"--local", NULL, offsetof(struct cmd_options, local),
     "software GPUs of this machine, without a server"},
    {"--gpus", "SPEC", offsetof(struct cmd_options, gpus),
     "with --local: which, as in 'memory=1GiB,sms=4;model=h200,timing=yes';\n"
     "without it, the environment's SOFTGPU_DEVICES, or one"},
    {"--compilers", "KIND", offsetof(struct cmd_options, compilers),
     "what nvrtc and nvJitLink of PROGRAM make: `machine` code, `ptx`, which is\n"
     "all that software GPUs run, or by `auto`, the default, what its GPUs need"},
    {"--force", NULL, offsetof(struct cmd_options, force),
     "start PROGRAM although there is no GPU for it"},
    {"--json", NULL, offsetof(struct cmd_options, json), "print JSON"},
    {"--help", NULL, offsetof(struct cmd_options, help), "print this"},
};

static const struct option *option_of(const struct cmd_sub *sub, const char *word, size_t length)
{
    for (size_t i = 0; sub->options[i] != NULL; i++) {
        for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
            if (strcmp(sub->options[i], options[k].name) == 0 &&
                strlen(options[k].name) == length && strncmp(options[k].name, word, length) == 0) {
                return &options[k];
            }
        }
    }
    return NULL;
}

/* Reads the option at `*words` and advances behind it. */
static int option_take(const struct cmd_sub *sub, char ***words, struct cmd_options *into)
{
    const char *word = **words;
    size_t length = strcspn(word, "=");
    const struct option *option = option_of(sub, word, length);
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (option == NULL) {
        return cmd_wrong(CMD_FAILED, "%s has no option %.*s%s (gpuaas %s --help)", sub->name,
                         (int)length, word, cmd_meant(word, sub), sub->name);
    }
    void *at = (char *)into + option->offset;
    ++*words;
    if (option->value == NULL) {
        *(bool *)at = true;
        return value == NULL ? 0 : cmd_wrong(CMD_FAILED, "%s takes no value", option->name);
    }
    if (value == NULL && **words != NULL && strncmp(**words, "--", 2) != 0) {
        value = *(*words)++;
    }
    if (value == NULL || *value == 0) {
        return cmd_wrong(CMD_FAILED, "%s needs a value: %s %s (gpuaas %s --help)", option->name,
                         option->name, option->value, sub->name);
    }
    *(const char **)at = value;
    return 0;
}

int cmd_options_read(const struct cmd_sub *sub, char **words, struct cmd_options *into)
{
    *into = (struct cmd_options){.sub = sub};
    while (*words != NULL && **words == '-' && !into->help) {
        if (strcmp(*words, "--") == 0) {
            words++;
            break;
        }
        int status = 0;
        if (strcmp(*words, "-h") == 0) {
            into->help = true;
        } else {
            status = option_take(sub, &words, into);
        }
        if (status != 0) {
            return status;
        }
    }
    into->rest = words;
    return 0;
}

void cmd_options_print(const struct cmd_sub *sub)
{
    for (size_t i = 0; sub->options[i] != NULL; i++) {
        const struct option *option = option_of(sub, sub->options[i], strlen(sub->options[i]));
        char head[32];
        snprintf(head, sizeof head, "%s%s%s", sub->options[i], option->value != NULL ? " " : "",
                 option->value != NULL ? option->value : "");
        for (const char *line = option->help; line != NULL;) {
            int length = (int)strcspn(line, "\n");
            printf("  %-17s %.*s\n", line == option->help ? head : "", length, line);
            line = line[length] != 0 ? line + length + 1 : NULL;
        }
    }
}

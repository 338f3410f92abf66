/* SPDX-License-Identifier: Apache-2.0 */
/* The command `gpuaas`: starts programs so that they find our client library and the servers, and
 * shows servers and devices.
 *
 * Note: it links nothing of the client library, which may be missing, and `gpuaas run` is
 * replaced by the program (exec). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/gpuaas/cmd.h"

const struct cmd_sub cmd_subs[] = {
    {.name = "run",
     .arguments = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
     .summary = "start a program whose CUDA calls go to gpuaas servers",
     .more = "The devices of all servers appear to PROGRAM one after another. If it would have no\n"
             "GPU it is not started, but with --force.\n"
             "GPUAAS_TRACE=summary in the environment prints at the end what its calls cost.\n"
             "\n"
             "Exit status: PROGRAM's own; 125 if gpuaas itself fails (the command line is wrong,\n"
             "no server answers, no GPU is left), 126 if PROGRAM cannot be run, 127 if it cannot\n"
             "be found.\n",
     .options = {"--servers", "--devices", "--local", "--gpus", "--compilers", "--force", "--help"},
     .run = cmd_run},
    {.name = "devices",
     .arguments = "[OPTIONS]",
     .summary = "list the devices that a program would see",
     .more = "Exit status: 0; 1 if there is none; 125 if the command line is wrong.\n",
     .options = {"--servers", "--devices", "--local", "--gpus", "--json", "--help"},
     .run = cmd_devices},
    {.name = "status",
     .arguments = "[OPTIONS]",
     .summary = "ask each server, and use each of its devices for a moment",
     .more = "Shows of each server its node, or why it cannot be reached, and of its devices the\n"
             "memory that is free for a program, the way its data goes, and how long a call takes\n"
             "that waits for the server.\n"
             "\n"
             "Exit status: 0 if all servers and all devices can be used, 1 if some cannot or none\n"
             "is left, 2 if no server can; 125 if the command line is wrong.\n",
     .options = {"--servers", "--devices", "--json", "--help"},
     .run = cmd_status},
};
const size_t cmd_sub_count = sizeof cmd_subs / sizeof cmd_subs[0];

static int print_usage(FILE *out, int status)
{
    for (size_t i = 0; i < cmd_sub_count; i++) {
        fprintf(out, "%s gpuaas %-8s %s\n", i == 0 ? "usage:" : "      ", cmd_subs[i].name,
                cmd_subs[i].arguments);
    }
    fputs("       gpuaas --help | --version | --environment-page | --environment-manual\n\n", out);
    for (size_t i = 0; i < cmd_sub_count; i++) {
        fprintf(out, "  %-8s  %s\n", cmd_subs[i].name, cmd_subs[i].summary);
    }
    fputs("\nEnvironment variables of programs and of gpuaas itself:\n\n", out);
    cmd_variables_help(out);
    fputs("\n`gpuaas run --help` shows the options of run, and so on; gpuaas(1) says more.\n", out);
    return status;
}

static int print_help(const struct cmd_sub *sub)
{
    printf("usage: gpuaas %s %s\n\n%s: %s\n\n", sub->name, sub->arguments, sub->name, sub->summary);
    cmd_options_print(sub);
    printf("\n%s", sub->more);
    return 0;
}

/* A full disk must not look like an answer. */
static int main_written(int status)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? status
               : cmd_wrong(CMD_FAILED, "cannot write to standard output: %s", strerror(errno));
}

static const struct cmd_sub *sub_find(const char *name)
{
    for (size_t i = 0; i < cmd_sub_count; i++) {
        if (strcmp(cmd_subs[i].name, name) == 0) {
            return &cmd_subs[i];
        }
    }
    return NULL;
}

static void print_version(FILE *out)
{
    fputs("gpuaas " GPUAAS_VERSION "\n", out);
}

/* Options in the place of a sub-command; --help is another one. */
static const struct {
    const char *name;
    void (*print)(FILE *out);
} pages[] = {{"--version", print_version},
             {"--environment-page", cmd_variables_page},
             {"--environment-manual", cmd_variables_manual}};
enum { PAGES = sizeof pages / sizeof pages[0] };

static int main_option_take(const char *name)
{
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    ga_nearest_offer(&nearest, "--help");
    for (size_t i = 0; i < PAGES; i++) {
        if (strcmp(name, pages[i].name) == 0) {
            pages[i].print(stdout);
            return main_written(0);
        }
        ga_nearest_offer(&nearest, pages[i].name);
    }
    if (nearest.word != NULL) {
        return cmd_wrong(CMD_FAILED, "there is no option %s, did you mean %s?", name, nearest.word);
    }
    return cmd_wrong(CMD_FAILED,
                     "the sub-command comes first, as in gpuaas run %s ... "
                     "(gpuaas --help)",
                     name);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (name[0] == 0) {
        return print_usage(stderr, CMD_FAILED);
    }
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (help && argc > 2) {
        name = argv[2];
    } else if (help) {
        return main_written(print_usage(stdout, 0));
    }
    if (name[0] == '-' || strcmp(name, "version") == 0) {
        return main_option_take(name[0] == '-' ? name : "--version");
    }
    const struct cmd_sub *sub = sub_find(name);
    if (sub == NULL) {
        return cmd_wrong(CMD_FAILED, "there is no sub-command %s%s (gpuaas --help)", name,
                         cmd_meant(name, NULL));
    }
    struct cmd_options options;
    int status = help ? 0 : cmd_options_read(sub, argv + 2, &options);
    if (status != 0) {
        return status;
    }
    if (help || options.help) {
        return main_written(print_help(sub));
    }
    if (sub->run != cmd_run && *options.rest != NULL) {
        return cmd_wrong(CMD_FAILED, "%s takes no argument %s (gpuaas %s --help)", name,
                         *options.rest, name);
    }
    return main_written(sub->run(&options));
}

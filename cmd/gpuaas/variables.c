/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables that users may set (api/environment.def), written as lines of --help,
 * as the section ENVIRONMENT of gpuaas(1) and as docs/environment.md. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/amount.h"
#include "base/log.h"
#include "cmd/gpuaas/cmd.h"

enum cmd_reader { READER_CLIENT, READER_JIT, READER_SOFTGPU, READER_CTL, READER_ALL };

struct cmd_variable {
    const char *name;
    enum cmd_reader reader;
    const char *standard, *allowed, *help, *text;
};

static const struct cmd_variable variables[] = {
#define ENVIRONMENT(name_, reader_, type_, standard_, least_, most_, words_, allowed_, help_,      \
                    text_)                                                                         \
    {.name = #name_,                                                                               \
     .reader = READER_##reader_,                                                                   \
     .standard = (standard_),                                                                      \
     .allowed = (allowed_),                                                                        \
     .help = (help_),                                                                              \
     .text = (text_)},
#include "api/environment.def"
#undef ENVIRONMENT
};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

static const struct {
    const char *title, *who;
} readers[] = {
    [READER_CLIENT] = {"Servers and their devices", "The client library reads these variables."},
    [READER_JIT] = {"Compilers at run time", "The libraries that `gpuaas run` preloads for "
                                             "programs that compile at run time read this one."},
    [READER_SOFTGPU] = {"Software GPUs", "softgpu reads these variables in programs that use it "
                                         "without a server (`gpuaas run --local`)."},
    [READER_CTL] = {"Administration", "gpuaasctl reads this variable."},
    [READER_ALL] = {"Messages", "The client library and softgpu read these variables."},
};

static bool begins_reader(const struct cmd_variable *variable)
{
    return variable == variables || variable[-1].reader != variable->reader;
}

void cmd_variables_help(FILE *out)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        fprintf(out, "  %-19s  %s\n", variables[i].name, variables[i].help);
    }
}

/* ---- gpuaas(1) */

/* Escapes text for roff: a user can copy its hyphens, and a part in backticks is bold. */
static void roff_write(FILE *out, const char *text)
{
    bool bold = false;
    for (; *text != 0; text++) {
        if (*text == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fR", out);
        } else if (*text == '-' || *text == '\\') {
            fputs(*text == '-' ? "\\-" : "\\e", out);
        } else {
            fputc(*text, out);
        }
    }
}

static void roff_line_write(FILE *out, const char *label, const char *text)
{
    fputs(label, out);
    roff_write(out, text);
    fputc('\n', out);
}

void cmd_variables_manual(FILE *out)
{
    fputs(".\\\" Written by gpuaas --environment-manual.\n.SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < VARIABLES; i++) {
        const struct cmd_variable *variable = &variables[i];
        if (begins_reader(variable)) {
            fprintf(out, ".SS %s\n", readers[variable->reader].title);
            roff_write(out, readers[variable->reader].who);
            fputc('\n', out);
        }
        fprintf(out, ".TP\n.B %s\n%c", variable->name, toupper((unsigned char)variable->help[0]));
        roff_write(out, variable->help + 1);
        roff_line_write(out, ".\n", variable->text);
        roff_line_write(out, ".br\nAllowed: ", variable->allowed);
        if (variable->standard[0] != 0) {
            roff_line_write(out, ".br\nDefault: ", variable->standard);
        }
    }
}

/* ---- docs/environment.md */

void cmd_variables_page(FILE *out)
{
    fputs("# Environment variables\n\n"
          "`gpuaas --environment-page` prints this page; `gpuaas --help` and gpuaas(1) have the "
          "same variables.\nA server is configured by a file instead: "
          "[gpuaasd.conf.example](gpuaasd.conf.example).\n",
          out);
    for (size_t i = 0; i < VARIABLES; i++) {
        const struct cmd_variable *variable = &variables[i];
        if (begins_reader(variable)) {
            fprintf(
                out,
                "\n## %s\n\n%s\n\n| variable | allowed | default | means |\n|---|---|---|---|\n",
                readers[variable->reader].title, readers[variable->reader].who);
        }
        fprintf(out, "| `%s` | %s | %s | %c%s. %s |\n", variable->name, variable->allowed,
                variable->standard, toupper((unsigned char)variable->help[0]), variable->help + 1,
                variable->text);
    }
}

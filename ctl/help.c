/* SPDX-License-Identifier: Apache-2.0 */
/* --help, the manual page and the completion of bash, from the tables. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "ctl/ctl.h"

static const struct {
    int value;
    const char *text;
} exits[] = {
#define ADMIN_CODE(name_, value_, word_, text_) {value_, text_},
    ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
};

static void exits_help(FILE *out)
{
    fputs("\nExit status:\n", out);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        fprintf(out, "  %d  %s\n", exits[i].value, exits[i].text);
    }
}

static const char *const unit_examples[] = {
    [LIMITS_BYTES] = "40GiB",           [LIMITS_COUNT] = "16",
    [LIMITS_MILLISECONDS] = "90s",      [LIMITS_PER_SECOND] = "1000",
    [LIMITS_BYTES_PER_SECOND] = "1GiB", [LIMITS_PER_CENT] = "50"};

/* Calls `print` for each line of the text. */
static void lines_print(FILE *out, const char *text,
                        void (*print)(FILE *out, const char *line, int length, bool first))
{
    for (bool first = true; *text != 0; first = false) {
        int length = (int)strcspn(text, "\n");
        print(out, text, length, first);
        text += length + (text[length] == '\n');
    }
}

/* ---- --help */

static void option_head(const struct ctl_option_row *row, char head[40])
{
    char letter[8] = "    ";
    if (row->letter != 0) {
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    }
    snprintf(head, 40, "%s--%s%s%s", letter, row->word, row->value != NULL ? " " : "",
             row->value != NULL ? row->value : "");
}

static void help_line(FILE *out, const char *line, int length, bool first)
{
    fprintf(out, first ? "%.*s\n" : "                            %.*s\n", length, line);
}

static void options_help(FILE *out, uint64_t options)
{
    char head[40];
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if ((options >> i & 1) != 0) {
            option_head(&ctl_options[i], head);
            fprintf(out, "  %-25s ", head);
            lines_print(out, ctl_options[i].help, help_line);
        }
    }
}

void ctl_help_all(FILE *out)
{
    fputs("usage: gpuaasctl COMMAND [ARGUMENTS] [OPTIONS]\n\n"
          "Administers gpuaasd, the server of gpuaas.\n\n",
          out);
    for (size_t i = 0; i < ctl_command_count; i++) {
        fprintf(out, "  %-20s %s\n", ctl_commands[i].words, ctl_commands[i].summary);
    }
    fputs("\n`gpuaasctl COMMAND --help` shows the arguments and options of a command; "
          "gpuaasctl(1) says more.\n",
          out);
    exits_help(out);
}

void ctl_help_group(FILE *out, const char *group)
{
    size_t length = strlen(group);
    fprintf(out, "usage: gpuaasctl %s COMMAND [ARGUMENTS] [OPTIONS]\n\n", group);
    for (size_t i = 0; i < ctl_command_count; i++) {
        if (strncmp(ctl_commands[i].words, group, length) == 0 &&
            ctl_commands[i].words[length] == ' ') {
            fprintf(out, "  %-20s %s\n", ctl_commands[i].words, ctl_commands[i].summary);
        }
    }
    fprintf(out, "\n`gpuaasctl %s COMMAND --help` shows the arguments and options of a command.\n",
            group);
}

static const struct {
    const char *example, *text;
} settings[] = {{"gpu-types=H200,A30", "names of GPUs, or words of them; - allows any"},
                {"isolation=exclusive", "a GPU serves one tenant at a time; otherwise app"},
                {"on-exhausted=suspend",
                 "when GPU time is used up sessions end, too; otherwise deny: no new ones"}};

/* The help for LIMIT. */
static void limits_help(FILE *out)
{
    fputs("\nLIMIT is one of these; KEY=- is no limit:\n", out);
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        fprintf(out, "  %s=%-*s %s\n", limits_table[i].key, (int)(24 - strlen(limits_table[i].key)),
                unit_examples[limits_table[i].unit], limits_table[i].text);
    }
    fputs("  gpu-seconds=100h/month    the same as gpu-seconds-month; also 8h/day\n", out);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        fprintf(out, "  %-25s %s\n", settings[i].example, settings[i].text);
    }
}

void ctl_help_command(FILE *out, const struct ctl_command *command)
{
    fprintf(out, "usage: gpuaasctl %s%s%s [OPTIONS]\n\n%s: %s\n\n", command->words,
            command->arguments[0] != 0 ? " " : "", command->arguments, command->words,
            command->summary);
    options_help(out, command->options);
    fprintf(out, "%s%s", command->more[0] != 0 ? "\n" : "", command->more);
    if (strstr(command->arguments, "LIMIT") != NULL) {
        limits_help(out);
    }
    exits_help(out);
}

/* ---- the manual page */

static void roff_text(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '-') {
            fputs("\\-", out);
        } else if (text[i] == '\\') {
            fputs("\\e", out);
        } else {
            fputc(text[i], out);
        }
    }
}

static void roff_line(FILE *out, const char *line, int length, bool first)
{
    (void)first;
    fputs(line[0] == '.' || line[0] == '\'' ? "\\&" : "", out);
    roff_text(out, line, (size_t)length);
    fputc('\n', out);
}

/* A text of --help becomes a sentence. */
static void roff_sentence(FILE *out, const char *text)
{
    fputc(toupper((unsigned char)text[0]), out);
    roff_text(out, text + 1, strlen(text + 1));
    fputs(".\n", out);
}

static void roff_command(FILE *out, const struct ctl_command *command)
{
    bool any = false;
    fputs(".TP\n\\fB", out);
    roff_text(out, command->words, strlen(command->words));
    fputs("\\fR ", out);
    fputs("\\fI", out);
    roff_text(out, command->arguments, strlen(command->arguments));
    fputs("\\fR\n", out);
    roff_sentence(out, command->summary);
    fputs(".br\n", out);
    lines_print(out, command->more, roff_line);
    fputs(command->more[0] != 0 ? ".br\n" : "", out);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if ((command->options >> i & 1) != 0 && i != OPTION_HELP && i != OPTION_QUIET) {
            fputs(any ? ", " : "Options: ", out);
            any = true;
            fputs("\\-\\-", out);
            roff_text(out, ctl_options[i].word, strlen(ctl_options[i].word));
        }
    }
    fputs(any ? "\n" : "It has no options of its own.\n", out);
}

static const char manual_begin[] =
    ".TH GPUAASCTL 1 \"\" \"gpuaas\" \"gpuaas\"\n"
    ".SH NAME\n"
    "gpuaasctl \\- administer gpuaasd, the server of gpuaas\n"
    ".SH SYNOPSIS\n"
    ".B gpuaasctl\n"
    ".I COMMAND\n"
    ".RI [ ARGUMENTS \"] [\" OPTIONS ]\n"
    ".br\n"
    ".B gpuaasctl\n"
    ".BR \\-\\-help \" | \" \\-\\-version \" | \" \\-\\-manual\n"
    ".SH DESCRIPTION\n"
    ".B gpuaasctl\n"
    "asks\n"
    ".BR gpuaasd (8)\n"
    "what there is, and changes it: from elsewhere by TLS\n"
    ".RB ( \"cert issue\\-admin\" ),\n"
    "on the machine where it runs over a Unix socket, the key\n"
    ".I admin_socket\n"
    "of\n"
    ".BR gpuaasd.conf (5).\n"
    "Root, the user that gpuaasd runs as, and the members of\n"
    ".I admin_group\n"
    "may do so.\n"
    ".PP\n"
    "Tables are for people: numbers have units, and times are those of this place. Programs use\n"
    ".BR \\-\\-json :\n"
    "sizes are in bytes, times in milliseconds, dates in UTC (ISO 8601). Characters that would "
    "act\n"
    "on a terminal are escaped everywhere: names come from others.\n"
    ".PP\n"
    "A command that changes something prints what it was and what it is now; with\n"
    ".B \\-\\-dry\\-run\n"
    "it prints that and changes nothing.\n"
    ".SH COMMANDS\n";

static const char manual_end[] = ".SH FILES\n"
                                 ".TP\n"
                                 ".I " ADMIN_SOCKET "\n"
                                 "The socket, unless\n"
                                 ".B \\-\\-server\n"
                                 "names another one.\n"
                                 ".SH SEE ALSO\n"
                                 ".BR gpuaas (1),\n"
                                 ".BR gpuaasd (8),\n"
                                 ".BR gpuaasd.conf (5)\n";

static void limits_manual(FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory != NULL) {
        limits_help(memory);
        if (fclose(memory) == 0) {
            lines_print(out, text + 1, roff_line); /* behind the empty line */
        }
        free(text);
    }
}

void ctl_help_manual(FILE *out)
{
    fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Written by gpuaasctl --manual.\n", out);
    fputs(manual_begin, out);
    for (size_t i = 0; i < ctl_command_count; i++) {
        roff_command(out, &ctl_commands[i]);
    }
    fputs(".SH OPTIONS\nOptions may stand anywhere behind the name of the program.\n", out);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const struct ctl_option_row *row = &ctl_options[i];
        fputs(".TP\n\\fB", out);
        if (row->letter != 0) {
            fprintf(out, "\\-%c\\fR, \\fB", row->letter);
        }
        fputs("\\-\\-", out);
        roff_text(out, row->word, strlen(row->word));
        fprintf(out, "\\fR%s%s%s\n", row->value != NULL ? " \\fI" : "",
                row->value != NULL ? row->value : "", row->value != NULL ? "\\fR" : "");
        roff_sentence(out, row->help);
    }
    fputs(".SH LIMITS\n.nf\n", out);
    limits_manual(out);
    fputs(".fi\n.SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        fprintf(out, ".TP\n\\fB%d\\fR\n%s\n", exits[i].value, exits[i].text);
    }
    fputs(manual_end, out);
}

/* ---- the completion of bash */

static void completion_words(FILE *out, const struct ctl_command *command)
{
    fprintf(out, "    [\"%s\"]=\"", command->words);
    for (unsigned i = 0, any = 0; i < OPTION_COUNT; i++) {
        if ((command->options >> i & 1) != 0) {
            fprintf(out, "%s--%s", any++ != 0 ? " " : "", ctl_options[i].word);
        }
    }
    fputs("\"\n", out);
}

static const char completion_end[] =
    ")\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} i at=\"\" command=\"\" words=\"\" each\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -* ]] || at+=\"${at:+ }${COMP_WORDS[i]}\"\n"
    "    done\n"
    "    case ${COMP_WORDS[COMP_CWORD-1]} in\n"
    "        --server) compopt -o nospace; COMPREPLY=(unix:/); return ;;\n"
    "        --output | -o) COMPREPLY=(wide); return ;;\n"
    "    esac\n"
    "    for each in \"${!options[@]}\"; do\n"
    "        if [[ \"$at \" == \"$each \"* && ${#each} -gt ${#command} ]]; then command=$each; fi\n"
    "        if [[ -z $at || \"$each\" == \"$at \"* ]]; then\n"
    "            each=${each#\"$at\"}\n"
    "            each=${each# }\n"
    "            words+=\" ${each%% *}\"\n"
    "        fi\n"
    "    done\n"
    "    if [[ $word == -* ]]; then\n"
    "        words=${options[$command]:---help --version}\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
    "    elif [[ -n $words ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\" | sort -u)\n"
    "    else\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "    fi\n"
    "}\n"
    "complete -F _gpuaasctl gpuaasctl\n";

void ctl_help_completion(FILE *out)
{
    fputs("# Completion of bash for gpuaasctl; written by gpuaasctl completion bash.\n"
          "_gpuaasctl()\n{\n    local -A options=(\n",
          out);
    for (size_t i = 0; i < ctl_command_count; i++) {
        completion_words(out, &ctl_commands[i]);
    }
    fputs(completion_end, out);
}

enum admin_code ctl_completion(const struct ctl_line *line)
{
    (void)line;
    ctl_help_completion(stdout);
    return ADMIN_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasctl: what its files share. A command is a row of commands.def, an option one of
 * options.def; the parser, --help, the manual page and the completion of bash are made of these
 * tables. */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/admin.h"

enum ctl_option {
#define OPTION(name, word, letter, value, help) OPTION_##name,
#include "ctl/options.def"
#undef OPTION
    OPTION_COUNT
};
#define CTL_BIT(option) (UINT64_C(1) << OPTION_##option)
_Static_assert(OPTION_COUNT <= 64, "a command has a bit for each");

struct ctl_option_row {
    const char *word;  /* without "--" */
    char letter;       /* 0: none */
    const char *value; /* its name in --help; NULL: the option takes no value */
    const char *help;  /* lines */
};
extern const struct ctl_option_row ctl_options[OPTION_COUNT];

/* The command line. */
struct ctl_line {
    const struct ctl_command *command;
    const char *group; /* --help is about all commands that begin with this word; NULL: it is not */
    const char *options[OPTION_COUNT]; /* the value, "" of an option without one; NULL: not given */
    char **words;                      /* behind those of the command */
    unsigned word_count;
    unsigned timeout_s;
};

struct ctl_command {
    const char *words;     /* "tenant add" */
    const char *arguments; /* "NAME [LIMIT...]", for people */
    unsigned least, most;  /* words behind it */
    uint64_t options;      /* CTL_BITs, besides CTL_EVERYWHERE */
    enum admin_code (*run)(const struct ctl_line *line);
    const char *summary;
    const char *more; /* lines of its --help */
};
extern const struct ctl_command ctl_commands[];
extern const size_t ctl_command_count;

/* Which commands take an option is a bit of theirs. --server and --timeout are taken by all: those
 * that ask nobody have no use for them. */
/* Options of all commands; of those that print a list or an object; of those that change. */
#define CTL_EVERYWHERE (CTL_BIT(HELP) | CTL_BIT(QUIET))
#define CTL_ASKS       (CTL_BIT(SERVER) | CTL_BIT(TIMEOUT))
#define CTL_PRINTS     (CTL_BIT(JSON))
#define CTL_LISTS      (CTL_BIT(JSON) | CTL_BIT(CSV) | CTL_BIT(WIDE) | CTL_BIT(NO_HEADER))
#define CTL_CHANGES    (CTL_BIT(JSON) | CTL_BIT(DRY_RUN))

static inline bool ctl_has(const struct ctl_line *line, enum ctl_option option)
{
    return line->options[option] != NULL;
}

/* ---- line.c */

/* Reads the words of the command line. Returns ADMIN_OK, or another status after an error message.
 * Without a command `line->command` is NULL. */
enum admin_code ctl_line_read(char **argv, struct ctl_line *line);

/* ---- wrong.c */

/* Writes "gpuaasctl: ..." to stderr, texts of others escaped. Returns `code`. */
enum admin_code ctl_wrong(enum admin_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As ctl_wrong, for a note, which is no error; nothing with --quiet. */
void ctl_note(const struct ctl_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Asks on the terminal, unless --yes is given: whether to go on with what `format` says. Without a
 * terminal the answer is no. Returns ADMIN_OK, or another status after a message. */
enum admin_code ctl_confirm(const struct ctl_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- help.c: the tables, for people and for bash */

void ctl_help_all(FILE *out);
void ctl_help_group(FILE *out, const char *group);
void ctl_help_command(FILE *out, const struct ctl_command *command);
/* gpuaasctl(1), as roff. */
void ctl_help_manual(FILE *out);
void ctl_help_completion(FILE *out);

/* ---- link_open.c: which gpuaasd */

/* Whether --server is another machine's, whose files are not here. */
bool ctl_is_remote(const struct ctl_line *line);
/* False: no gpuaasd has made the admin socket. */
bool ctl_socket_is_there(const struct ctl_line *line);

/* ---- ask.c: the dialogue with gpuaasd */

/* Sends a request and waits for its result, which is the caller's; `arguments` is taken and may be
 * NULL. An error has been told on stderr. */
enum admin_code ctl_ask(const struct ctl_line *line, const char *verb, json_t *arguments,
                        json_t **result);
/* As ctl_ask, and prints nothing: `why` is for people. */
enum admin_code ctl_ask_quietly(const struct ctl_line *line, const char *verb, json_t *arguments,
                                json_t **result, char *why, size_t why_size);
/* Sends a request, whose reply is the next line of the link. */
enum admin_code ctl_ask_send(const struct ctl_line *line, const char *verb, json_t *arguments,
                             char *why, size_t why_size);
/* Why a reply is an error; ADMIN_OK: it is none. */
enum admin_code ctl_ask_wrong(const char *text, size_t size, char *why, size_t why_size);
/* The items of all pages of a list. */
enum admin_code ctl_ask_list(const struct ctl_line *line, const char *verb, json_t *arguments,
                             json_t **items);

/* ---- text.c */

/* The text with everything escaped that would act on a terminal; to be freed. NULL: no memory. */
char *ctl_text_safe(const char *text);
/* Whether it is so as it is: ASCII that can be printed. */
bool ctl_text_is_plain(const char *text);
/* Columns that a terminal shows it in. */
unsigned ctl_text_columns(const char *text);
/* The bytes of the beginning of `size` bytes that has at most so many columns. */
size_t ctl_text_fit(const char *text, size_t size, unsigned columns);

/* ---- print.c */

enum ctl_form {
    FORM_TEXT,
    FORM_ID,    /* its first 8 characters, unless -o wide */
    FORM_COUNT, /* a number; null: "-" */
    FORM_BYTES,
    FORM_BYTES_OF,    /* the key "used|limit": both */
    FORM_COUNT_OF,    /* the same */
    FORM_DURATION_MS, /* null: "-" */
    FORM_NS,          /* a short time, as it is typed: 500us */
    FORM_HOURS_OF,    /* the key "used|limit" of ms */
    FORM_HOURS,       /* of ms */
    FORM_SECONDS,     /* of ms */
    FORM_DAY,         /* the day of a time, in UTC as it comes */
    FORM_TIME,        /* of ISO 8601: shown as local time */
    FORM_LIST,        /* an array, with commas */
    FORM_FLAG,
};

struct ctl_column {
    const char *title;
    const char *key; /* of the item's member; "limits.gpus" of a member's member */
    enum ctl_form form;
    bool wide; /* with -o wide alone */
};

/* Prints an array of objects as the options say: table, CSV or JSON. */
enum admin_code ctl_print_list(const struct ctl_line *line, const char *kind,
                               const struct ctl_column *columns, size_t count, json_t *items);
/* Prints an object: a line for each column that has a value, or JSON. */
enum admin_code ctl_print_object(const struct ctl_line *line, const char *kind,
                                 const struct ctl_column *columns, size_t count, json_t *object);
/* Prints a document of JSON: `object` with apiVersion and kind in front. */
enum admin_code ctl_print_json(const char *kind, json_t *object);
/* Tells the warnings of a result on stderr. */
void ctl_print_warnings(json_t *result);
/* Prints what a change is, member by member: "NAME: key before -> after"; or JSON. */
enum admin_code ctl_print_change(const struct ctl_line *line, const char *kind, const char *name,
                                 json_t *result);

/* ---- the commands, by file */

#define COMMAND(words, arguments, least, most, options, run, summary, more)                        \
    enum admin_code run(const struct ctl_line *line);
#include "ctl/commands.def"
#undef COMMAND

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The shared header of the command `gpuaas`: its sub-commands, options and exit statuses. */
#ifndef CMD_GPUAAS_CMD_H
#define CMD_GPUAAS_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of gpuaas itself, as env(1), timeout(1) and docker-run(1) have them. */
enum { CMD_FAILED = 125, CMD_CANNOT_RUN = 126, CMD_NOT_FOUND = 127 };

/* The command line behind the sub-command. */
struct cmd_options {
    const struct cmd_sub *sub;
    const char *servers, *devices, *gpus, *compilers; /* NULL: not given */
    bool local, force, json, help;
    char **rest; /* the words behind the options; NULL ends */
};

struct cmd_sub {
    const char *name, *arguments, *summary, *more; /* `more`: lines of its --help */
    const char *options[8];                        /* NULL ends */
    int (*run)(const struct cmd_options *options); /* the exit status */
};
extern const struct cmd_sub cmd_subs[];
extern const size_t cmd_sub_count;

int cmd_run(const struct cmd_options *options);
int cmd_devices(const struct cmd_options *options);
int cmd_status(const struct cmd_options *options);

/* ---- options.c */

/* Reads the words behind the sub-command's name. Returns 0, or the exit status after an error
 * message on stderr. */
int cmd_options_read(const struct cmd_sub *sub, char **words, struct cmd_options *options);
/* Prints the options of this sub-command as lines of --help. */
void cmd_options_print(const struct cmd_sub *sub);

/* ---- wrong.c */

/* Writes "gpuaas: ..." to stderr: cause and cure. Returns `status`. */
int cmd_wrong(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns ", did you mean WORD?" for the sub-command, or for the option of a sub-command, that
 * was probably meant, or ""; valid until the next call. */
const char *cmd_meant(const char *text, const struct cmd_sub *sub);

/* ---- variables.c: api/environment.def, for people */

/* Lines of --help: each environment variable and its one-line help. */
void cmd_variables_help(FILE *out);
/* The section ENVIRONMENT of gpuaas(1), as roff. */
void cmd_variables_manual(FILE *out);
/* docs/environment.md. */
void cmd_variables_page(FILE *out);

/* ---- environment.c: the environment of a program that is to find one of our CUDA drivers */

/* Finds the CUDA driver that the options ask for, the client library or softgpu (--local), and
 * sets the environment variables that it reads. Returns 0, or the exit status after an error
 * message on stderr. */
int cmd_environment_driver(const struct cmd_options *options, char *library, size_t size);
/* Makes the dynamic loader find `library` as the CUDA driver. `ptx`: compilers at run time keep
 * PTX as well. False: no memory. */
bool cmd_environment_program(const char *library, bool ptx);
/* The variable that is empty and so chooses no device (of servers, or `local`: of this machine's
 * software GPUs); NULL: none. */
const char *cmd_environment_chooses_none(bool local);

#endif

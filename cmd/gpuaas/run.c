/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaas run: replaces this process by the program. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/gpuaas/cmd.h"
#include "cmd/gpuaas/driver.h"

/* Explains why the program could not be started, and what to do. */
static int exec_failed(const char *name, int error)
{
    struct stat file;
    bool there = stat(name, &file) == 0, plain = strchr(name, '/') == NULL;
    if (error == ENOENT && plain && there) {
        return cmd_wrong(CMD_NOT_FOUND, "%s is in no folder of PATH; did you mean ./%s?", name,
                         name);
    }
    if (error == ENOENT && plain) {
        return cmd_wrong(CMD_NOT_FOUND, "%s is in no folder of PATH; give its path", name);
    }
    if (error == ENOENT && there) {
        return cmd_wrong(CMD_CANNOT_RUN, "%s is there, but the interpreter that it names is not",
                         name);
    }
    if (error == ENOENT) {
        return cmd_wrong(CMD_NOT_FOUND, "there is no program %s", name);
    }
    if (there && S_ISDIR(file.st_mode)) {
        return cmd_wrong(CMD_CANNOT_RUN, "%s is a directory; give the program in it", name);
    }
    if (error == EACCES && there && access(name, X_OK) != 0) {
        return cmd_wrong(CMD_CANNOT_RUN, "%s may not be executed; chmod +x %s?", name, name);
    }
    return cmd_wrong(CMD_CANNOT_RUN, "cannot run %s: %s", name, strerror(error));
}

static int no_gpu(const struct cmd_options *options)
{
    const char *empty = cmd_environment_chooses_none(options->local);
    if (empty != NULL) {
        return cmd_wrong(CMD_FAILED,
                         "%s was not started: %s is set and empty, so there is no GPU for it; "
                         "--force starts it all the same",
                         *options->rest, empty);
    }
    return cmd_wrong(CMD_FAILED,
                     "%s was not started: there is no GPU for it; --force starts it all the same",
                     *options->rest);
}

/* Decides whether compilers at run time keep PTX. Returns 0, or the exit status. */
static int choose_compilers(const struct cmd_options *options, const char *library, bool *ptx)
{
    const char *kind = options->compilers != NULL ? options->compilers : "auto";
    bool automatic = strcmp(kind, "auto") == 0;
    *ptx = strcmp(kind, "ptx") == 0;
    if (!automatic && !*ptx && strcmp(kind, "machine") != 0) {
        return cmd_wrong(CMD_FAILED, "--compilers takes auto, ptx or machine, not %s", kind);
    }
    if (options->force && !automatic) {
        return 0; /* the answer would change nothing */
    }
    enum cmd_gpus gpus = cmd_gpus_ask(library, !options->force);
    if (gpus == CMD_GPUS_NONE && !options->force) {
        return no_gpu(options);
    }
    if (automatic) {
        *ptx = options->local || gpus == CMD_GPUS_PTX;
    }
    if (automatic && *ptx) {
        ga_info("all GPUs are software: libraries that compile at run time are made to keep PTX "
                "(--compilers)");
    }
    return 0;
}

int cmd_run(const struct cmd_options *options)
{
    char library[PATH_MAX];
    bool ptx = false;
    if (*options->rest == NULL) {
        return cmd_wrong(CMD_FAILED, "no program to run, as in gpuaas run -- ./app");
    }
    int status = cmd_environment_driver(options, library, sizeof library);
    if (status == 0) {
        status = choose_compilers(options, library, &ptx);
    }
    if (status != 0) {
        return status;
    }
    if (!cmd_environment_program(library, ptx)) {
        return cmd_wrong(CMD_FAILED, "no memory for the environment");
    }
    execvp(options->rest[0], options->rest);
    return exec_failed(options->rest[0], errno);
}

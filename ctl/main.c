/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasctl: administers a gpuaasd. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "ctl/ctl.h"

/* A full disk must not look like an answer. */
static enum admin_code main_written(enum admin_code code)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? code
               : ctl_wrong(ADMIN_ERROR, "cannot write to standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    static struct ctl_line line;
    (void)argc;
    (void)setlocale(LC_ALL, "");
    signal(SIGPIPE, SIG_IGN);
    if (argv[1] != NULL && argv[2] == NULL && strcmp(argv[1], "--version") == 0) {
        argv[1] = "version";
    }
    if (argv[1] != NULL && argv[2] == NULL && strcmp(argv[1], "--manual") == 0) {
        ctl_help_manual(stdout);
        return (int)main_written(ADMIN_OK);
    }
    enum admin_code code = ctl_line_read(argv + 1, &line);
    if (code != ADMIN_OK) {
        return (int)code;
    }
    if (line.command == NULL && !ctl_has(&line, OPTION_HELP)) {
        ctl_help_all(stderr);
        return ADMIN_USAGE;
    }
    if (line.group != NULL) {
        ctl_help_group(stdout, line.group);
    } else if (line.command == NULL) {
        ctl_help_all(stdout);
    } else if (ctl_has(&line, OPTION_HELP)) {
        ctl_help_command(stdout, line.command);
    } else {
        code = line.command->run(&line);
    }
    return (int)main_written(code);
}

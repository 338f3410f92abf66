/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasd's command line. The same program is control process and, with --backend, backend
 * process: what a reader would look for elsewhere. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "conf/conf.h"
#include "server/admin/admin.h"
#include "server/backend/backend.h"
#include "server/gpuaasd/check.h"
#include "server/gpuaasd/gpuaasd.h"

enum { EXIT_USAGE = 2 };

static void usage(void)
{
    fputs(
        "usage: gpuaasd --config FILE [--check-config]\n"
        "       gpuaasd --example-config | --config-manual | --help | --version\n"
        "\n"
        "Serves this machine's GPUs to programs on other machines. Stays in the foreground, logs\n"
        "to stderr, and says \"ready\" with each address when it serves. SIGTERM ends it;\n"
        "SIGUSR1 makes it log its clients and backend processes (log_level info); SIGHUP makes it\n"
        "read its configuration and certificates again.\n"
        "\n"
        "  --config FILE      what to serve and where; see --example-config\n"
        "  --check-config     only say what is wrong with FILE\n"
        "  --example-config   write a commented configuration file to stdout\n"
        "  --config-manual    write the man page gpuaasd.conf(5) to stdout\n"
        "  --help, --version  print this, or the version\n"
        "\n"
        "Exit status: 0 after a graceful end; 1 if the configuration is wrong or nothing can be\n"
        "served; 2 if the command line is wrong.\n",
        stdout);
}

/* One line: cause and cure. */
__attribute__((format(printf, 1, 2))) static int wrong(const char *format, ...)
{
    va_list args;
    fputs("gpuaasd: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputs(" (gpuaasd --help)\n", stderr);
    return EXIT_USAGE;
}

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},   {"check-config", no_argument, NULL, 'k'},
    {"example-config", no_argument, NULL, 'e'}, {"config-manual", no_argument, NULL, 'm'},
    {"help", no_argument, NULL, 'h'},           {"version", no_argument, NULL, 'v'},
    {"backend", no_argument, NULL, 'b'},        {NULL, 0, NULL, 0},
};

/* `word` is no option, or has a value that it does not take. */
static int wrong_option(const char *word)
{
    const char *name = strncmp(word, "--", 2) == 0 ? word + 2 : word;
    size_t length = strcspn(name, "=");
    struct ga_nearest nearest = ga_nearest_to(name, length);
    for (const struct option *at = options; at->val != 'b'; at++) {
        if (strlen(at->name) == length && strncmp(at->name, name, length) == 0) {
            return wrong("--%s takes no value", at->name);
        }
        ga_nearest_offer(&nearest, at->name);
    }
    return nearest.word != NULL
               ? wrong("there is no option %s, did you mean --%s?", word, nearest.word)
               : wrong("there is no option %s", word);
}

/* A full disk must not look like a configuration. */
static int main_written(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return 0;
    }
    fprintf(stderr, "gpuaasd: cannot write to standard output: %s\n", strerror(errno));
    return 1;
}

static void complain(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "gpuaasd: %s\n", line);
}

static void complain_of_idle(void *user, const char *line)
{
    (void)user;
    ga_warn("%s", line);
}

static int serve(const char *file, bool check_only)
{
    static struct conf conf;
    enum ga_status status = conf_read_file(file, &conf, complain, NULL);
    enum ga_status addresses = check_configuration(file, &conf, complain, NULL);
    enum ga_status admins = admin_check(file, &conf, complain, NULL);
    if (status != GA_OK || addresses != GA_OK || admins != GA_OK) {
        return 1;
    }
    if (check_only) {
        conf_scheduling_idle(file, &conf, complain, NULL);
        printf("%s: ok\n", file);
        return 0;
    }
    ga_log_set_level(conf.server.log_level);
    ga_log_set_format(conf.server.log_format);
    conf_scheduling_idle(file, &conf, complain_of_idle, NULL);
    int result = gpuaasd_run(file, &conf, &admin_room);
    ga_log_end();
    return result;
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    bool check_only = false;
    int option;
    opterr = 0;
    signal(SIGPIPE, SIG_IGN);
    ga_log_set_name("gpuaasd");
    while ((option = getopt_long(argc, argv, ":c:hv", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            file = optarg;
            break;
        case 'k':
            check_only = true;
            break;
        case 'e':
            conf_example_write(stdout);
            return main_written();
        case 'm':
            conf_manual_write(stdout);
            return main_written();
        case 'h':
            usage();
            return main_written();
        case 'v':
            printf("gpuaasd %s\n", GPUAAS_VERSION);
            return main_written();
        case 'b':
            backend_main();
        case ':':
            return wrong("--config needs a value: --config FILE");
        default:
            return wrong_option(argv[optind - 1]);
        }
    }
    if (optind != argc) {
        return wrong("%s belongs to no option%s", argv[optind],
                     file == NULL ? "; the configuration is given by --config FILE" : "");
    }
    if (file == NULL) {
        return wrong("no configuration is given: gpuaasd --config FILE; gpuaasd --example-config "
                     "writes one to start with");
    }
    return serve(file, check_only);
}

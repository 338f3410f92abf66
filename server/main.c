/* gpuaasd's command line. The same program is control process and, with --backend, backend
 * process: what a reader would look for elsewhere. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf.h"
#include "server/backend.h"
#include "server/control.h"

static void usage(FILE *out)
{
    fputs(
        "usage: gpuaasd --config FILE [--check-config]\n"
        "       gpuaasd --example-config | --config-manual | --help | --version\n"
        "\n"
        "Serves this machine's GPUs to programs on other machines. Stays in the foreground, logs\n"
        "to stderr, and says \"ready\" with each address when it serves. SIGTERM ends it;\n"
        "SIGUSR1 makes it log its clients and backend processes (log_level info).\n"
        "\n"
        "  --config FILE      what to serve and where; see --example-config\n"
        "  --check-config     only say what is wrong with FILE\n"
        "  --example-config   write a commented configuration file to stdout\n"
        "  --config-manual    write the man page gpuaasd.conf(5) to stdout\n",
        out);
}

static void complain(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "gpuaasd: %s\n", line);
}

static int serve(const char *file, bool check_only)
{
    static struct conf conf;
    enum ga_status status = conf_read_file(file, &conf, complain, NULL);
    enum ga_status addresses = control_check(file, &conf, complain, NULL);
    if (status != GA_OK || addresses != GA_OK) {
        return 1;
    }
    if (check_only) {
        printf("%s: ok\n", file);
        return 0;
    }
    ga_log_set_level(conf.server.log_level);
    return control_run(&conf);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},   {"check-config", no_argument, NULL, 'k'},
        {"example-config", no_argument, NULL, 'e'}, {"config-manual", no_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},           {"version", no_argument, NULL, 'v'},
        {"backend", no_argument, NULL, 'b'},        {NULL, 0, NULL, 0},
    };
    const char *file = NULL;
    bool check_only = false;
    int option;
    signal(SIGPIPE, SIG_IGN);
    ga_log_set_name("gpuaasd");
    while ((option = getopt_long(argc, argv, "c:hv", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            file = optarg;
            break;
        case 'k':
            check_only = true;
            break;
        case 'e':
            conf_example_write(stdout);
            return 0;
        case 'm':
            conf_manual_write(stdout);
            return 0;
        case 'h':
            usage(stdout);
            return 0;
        case 'v':
            printf("gpuaasd %s\n", GPUAAS_VERSION);
            return 0;
        case 'b':
            return backend_main();
        default:
            usage(stderr);
            return 2;
        }
    }
    if (file == NULL || optind != argc) {
        usage(stderr);
        return 2;
    }
    return serve(file, check_only);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See real_server.h. */
#include "tests/fuzz/real_server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/input.h"

static const char configuration[] =
    "[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\nbulk_connections = 3\n"
    "[gpu.0]\ndriver = soft\nmemory = 1GiB\n[gpu.1]\ndriver = soft\nmemory = 512MiB\n";

static void serve(const char *config, int out)
{
    char node[64];
    snprintf(node, sizeof node, "fuzz-%d", (int)getppid());
    setenv("SOFTGPU_NODE", node, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)dup2(out, STDERR_FILENO);
    (void)execl(FUZZ_GPUAASD, FUZZ_GPUAASD, "--config", config, (char *)NULL);
    _exit(127);
}

struct real_server real_server_start(void)
{
    struct real_server server = {0};
    char config[] = "/tmp/gpuaas-fuzz-XXXXXX", line[512];
    int ends[2], fd = mkstemp(config);
    FUZZ_CHECK(fd >= 0 && pipe(ends) == 0);
    FUZZ_CHECK(write(fd, configuration, sizeof configuration - 1) == sizeof configuration - 1);
    close(fd);
    server.pid = fork();
    if (server.pid == 0) {
        serve(config, ends[1]);
    }
    close(ends[1]);
    FILE *log = fdopen(ends[0], "r");
    FUZZ_CHECK(server.pid > 0 && log != NULL);
    while (server.address[0] == 0 && fgets(line, sizeof line, log) != NULL) {
        const char *ready = strstr(line, "ready tcp://");
        if (ready != NULL) {
            (void)sscanf(ready, "ready tcp://%63[0-9.:]", server.address);
        }
    }
    FUZZ_CHECK(server.address[0] != 0); /* else it has not begun */
    (void)unlink(config);
    return server; /* what it logs from here on stays in the pipe, which ends with us */
}

void real_server_end(struct real_server *server)
{
    int status;
    (void)kill(server->pid, SIGTERM);
    FUZZ_CHECK(waitpid(server->pid, &status, 0) == server->pid);
}

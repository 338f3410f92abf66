/* SPDX-License-Identifier: Apache-2.0 */
/* The gpuaasd of the scripted client. */
#include "server/tests/script.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define LIMIT_MS 20000

const char *script_ca;

static void server_read(struct script_server *server, int timeout_ms)
{
    struct pollfd fd = {.fd = server->log, .events = POLLIN};
    size_t used = strlen(server->text);
    if (poll(&fd, 1, timeout_ms) == 1 && used + 1 < sizeof server->text) {
        ssize_t got = read(server->log, server->text + used, sizeof server->text - used - 1);
        if (got > 0) {
            server->text[used + (size_t)got] = 0;
        } else {
            usleep(1000); /* its end */
        }
    }
}

void script_server_says(struct script_server *server, const char *part)
{
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    while (strstr(server->text, part) == NULL) {
        cr_assert(ga_clock_ns() < until, "gpuaasd never said \"%s\":\n%s", part, server->text);
        server_read(server, 100);
    }
}

void script_server_drain(struct script_server *server)
{
    struct pollfd fd = {.fd = server->log, .events = POLLIN};
    while (poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0) {
        server_read(server, 0);
    }
}

void script_server_start(struct script_server *server, const char *more)
{
    script_server_start_with(server, more, "256MiB");
}

/* One to throw away, which is its own authority. */
static void certificate_make(struct script_server *server)
{
    char *arguments[] = {"openssl",
                         "req",
                         "-x509",
                         "-newkey",
                         "ec",
                         "-pkeyopt",
                         "ec_paramgen_curve:P-256",
                         "-nodes",
                         "-days",
                         "2",
                         "-subj",
                         "/CN=script",
                         "-addext",
                         "subjectAltName=IP:127.0.0.1",
                         "-keyout",
                         server->key,
                         "-out",
                         server->certificate,
                         NULL};
    posix_spawn_file_actions_t quiet;
    pid_t made;
    int status;
    snprintf(server->certificate, sizeof server->certificate, "%s.pem", server->config);
    snprintf(server->key, sizeof server->key, "%s.key", server->config);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    cr_assert_eq(posix_spawnp(&made, "openssl", &quiet, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    cr_assert_eq(waitpid(made, &status, 0), made);
    cr_assert_eq(status, 0, "openssl makes no certificate");
    script_ca = server->certificate;
}

void script_server_start_with(struct script_server *server, const char *more, const char *memory)
{
    int ends[2];
    *server = (struct script_server){.config = "/tmp/gpuaas-server-test-XXXXXX"};
    int file = mkstemp(server->config);
    cr_assert(file >= 0);
    if (script_tls) {
        certificate_make(server);
        dprintf(file, "[server]\ntls_cert = %s\ntls_key = %s\n", server->certificate, server->key);
    }
    dprintf(file,
            "[server]\nlisten = %s://%s:0\ndata_ports = 0\ninsecure = %s\n%s%s"
            "[gpu.0]\ndriver = soft\nname = one\nmemory = %s\n"
            "[gpu.1]\ndriver = soft\nname = two\nmemory = 64MiB\n",
            script_tls ? "tls" : "tcp", script_rdma != NULL ? script_rdma : "127.0.0.1",
            script_rdma != NULL ? "yes" : "no",
            strstr(more, "spare_backends") == NULL ? "spare_backends = 0\n" : "", more, memory);
    close(file);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails stops nothing */
        dup2(ends[1], STDERR_FILENO);
        execl(GPUAASD_PATH, "gpuaasd", "--config", server->config, NULL);
        _exit(127);
    }
    close(ends[1]);
    server->log = ends[0];
    script_server_says(server, script_tls ? "ready tls://" : "ready tcp://");
    const char *url = strstr(server->text, "ready ") + strlen("ready ");
    script_server_says(server, "\n");
    memcpy(server->url, url, strcspn(url, "\n"));
}

void script_server_stop(struct script_server *server)
{
    int status = 0;
    kill(server->pid, SIGTERM);
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    while (waitpid(server->pid, &status, WNOHANG) == 0) {
        cr_assert(ga_clock_ns() < until, "gpuaasd does not end:\n%s", server->text);
        server_read(server, 10);
    }
    script_server_drain(server);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x:\n%s", (unsigned)status,
              server->text);
    cr_expect_null(strstr(server->text, "Sanitizer"), "%s", server->text);
    cr_expect_null(strstr(server->text, "runtime error"), "%s", server->text);
    close(server->log);
    unlink(server->config);
    if (server->certificate[0] != 0) {
        unlink(server->certificate);
        unlink(server->key);
    }
}

unsigned script_server_backends(const struct script_server *server, pid_t *pids, unsigned most)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", server->pid, server->pid);
    FILE *file = fopen(path, "re");
    int pid;
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        if (count < most) {
            pids[count] = pid;
        }
        count++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

void script_server_wait_backends(const struct script_server *server, unsigned count)
{
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    unsigned now;
    while ((now = script_server_backends(server, NULL, 0)) != count) {
        cr_assert(ga_clock_ns() < until, "%u backend processes, not %u", now, count);
        usleep(5000);
    }
}

unsigned script_server_descriptors(const struct script_server *server)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", server->pid);
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

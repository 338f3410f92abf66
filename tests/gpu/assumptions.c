/* SPDX-License-Identifier: Apache-2.0 */
/* assumptions [--json FILE] [--may-differ NAME,...] DRIVER: asks a driver each question of the
 * tables, each in a process of its own (one may condemn its process, or never return), and prints
 * what was seen and what follows. Exit status 1: one that is not listed differs or cannot be told.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assume.h"

#define SECONDS_EACH 60
#define SEEN_BYTES   200

struct cuda_driver driver;
CUdevice device;
CUcontext context;

static char *answer; /* where need() says why it gave up */

/* clang-format off */
const char kernels_ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry wait(.param .u64 flag)\n{\n"
    "    .reg .pred %p1; .reg .b64 %rd<3>; .reg .b32 %r1;\n"
    "    ld.param.u64 %rd1, [flag];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "again:\n"
    "    ld.volatile.global.u32 %r1, [%rd2];\n"
    "    setp.eq.u32 %p1, %r1, 0;\n"
    "    @%p1 bra again;\n"
    "    ret;\n}\n"
    ".visible .entry outside()\n{\n"
    "    .reg .b64 %rd1; .reg .b32 %r1;\n"
    "    mov.u64 %rd1, 64;\n    mov.u32 %r1, 1;\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n}\n"
    ".visible .entry narrow()\n.maxntid 64, 1, 1\n{\n    ret;\n}\n";
/* clang-format on */

const char *name_of(CUresult result)
{
    static char texts[4][64];
    static unsigned next;
    const char *name = NULL;
    char *text = texts[next++ % 4];
    if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) {
        name = "an unknown error";
    }
    snprintf(text, sizeof texts[0], "%d %s", (int)result, name);
    return text;
}

void need(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        snprintf(answer, SEEN_BYTES, "%.*s gives %s", (int)strcspn(call, "("), call,
                 name_of(result));
        fwrite(answer, 1, SEEN_BYTES, stdout);
        fflush(stdout);
        _exit(CANNOT_TELL);
    }
}

int attribute(CUdevice_attribute which)
{
    int value = 0;
    NEED(driver.cuDeviceGetAttribute(&value, which, device));
    return value;
}

void *symbol(const char *name)
{
    return dlsym(driver.library, name);
}

CUfunction kernel(const char *name)
{
    static CUmodule module;
    CUfunction function;
    if (module == NULL) {
        NEED(driver.cuModuleLoadData(&module, kernels_ptx));
    }
    NEED(driver.cuModuleGetFunction(&function, module, name));
    return function;
}

CUdeviceptr wait_begin(CUstream stream)
{
    CUdeviceptr flag;
    CUfunction function = kernel("wait");
    NEED(driver.cuMemAlloc_v2(&flag, sizeof(unsigned)));
    NEED(driver.cuMemsetD32_v2(flag, 0, 1));
    NEED(driver.cuCtxSynchronize());
    void *parameters[] = {&flag};
    NEED(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    return flag;
}

void wait_release(CUdeviceptr flag)
{
    static const unsigned one = 1;
    CUstream stream;
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(driver.cuMemcpyHtoDAsync_v2(flag, &one, sizeof one, stream));
}

/* ---- asking, in a child */

static void open_driver(const char *path)
{
    char why[150] = "";
    if (cuda_driver_open(&driver, path, why, sizeof why) != GA_OK) {
        snprintf(answer, SEEN_BYTES, "%s", why);
        fwrite(answer, 1, SEEN_BYTES, stdout);
        fflush(stdout);
        _exit(CANNOT_TELL);
    }
    NEED(driver.cuInit(0));
    NEED(driver.cuDeviceGet(&device, 0));
    NEED(driver.cuDevicePrimaryCtxRetain(&context, device));
    NEED(driver.cuCtxSetCurrent(context));
}

static enum verdict ask(const struct assumption *at, const char *path, char *seen)
{
    int ends[2], status;
    memset(seen, 0, SEEN_BYTES);
    if (pipe(ends) != 0) {
        return CANNOT_TELL;
    }
    pid_t child = fork();
    if (child == 0) {
        static char text[SEEN_BYTES];
        answer = text;
        alarm(SECONDS_EACH);
        dup2(ends[1], STDOUT_FILENO);
        open_driver(path);
        enum verdict verdict = at->ask(text, sizeof text);
        fwrite(text, 1, sizeof text, stdout);
        fflush(stdout);
        _exit(verdict);
    }
    close(ends[1]);
    size_t got = 0;
    ssize_t part;
    while (got < SEEN_BYTES && (part = read(ends[0], seen + got, SEEN_BYTES - got)) > 0) {
        got += (size_t)part;
    }
    seen[SEEN_BYTES - 1] = 0;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return CANNOT_TELL;
    }
    if (WIFSIGNALED(status)) {
        bool slow = WTERMSIG(status) == SIGALRM;
        snprintf(seen, SEEN_BYTES, slow ? "no answer within %d s" : "killed by signal %d",
                 slow ? SECONDS_EACH : WTERMSIG(status));
        return CANNOT_TELL;
    }
    return WEXITSTATUS(status) <= CANNOT_TELL ? (enum verdict)WEXITSTATUS(status) : CANNOT_TELL;
}

/* ---- telling */

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void json_line(FILE *out, const struct assumption *at, enum verdict verdict,
                      const char *seen, bool first)
{
    static const char *const words[] = {"holds", "differs", "cannot tell"};
    fprintf(out, "%s\n  {\"name\": \"%s\", \"verdict\": \"%s\", \"seen\": ", first ? "[" : ",",
            at->name, words[verdict]);
    json_text(out, seen);
    fputc('}', out);
}

static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL && *at != 0; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *may_differ = "", *json = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--may-differ") == 0 && i + 1 < argc) {
            may_differ = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else {
            path = argv[i];
        }
    }
    if (path == NULL) {
        fprintf(stderr, "usage: %s [--json FILE] [--may-differ NAME,...] DRIVER\n", argv[0]);
        return 2;
    }
    FILE *out = json != NULL ? fopen(json, "w") : NULL;
    if (json != NULL && out == NULL) {
        fprintf(stderr, "%s: %s\n", json, strerror(errno));
        return 2;
    }
    static const char *const words[] = {"holds  ", "DIFFERS", "?      "};
    const struct assumption *const tables[] = {assumptions_of_memory, assumptions_of_work,
                                               assumptions_of_answers};
    int unexpected = 0;
    bool first = true;
    for (unsigned t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (const struct assumption *at = tables[t]; at->name != NULL; at++) {
            char seen[SEEN_BYTES];
            enum verdict verdict = ask(at, path, seen);
            printf("%s  %-22s %s\n         %-22s seen: %s\n", words[verdict], at->name,
                   at->question, "", seen);
            if (verdict != HOLDS) {
                printf("         %-22s so: %s\n", "", at->fallback);
                unexpected += !listed(may_differ, at->name);
            }
            fflush(stdout);
            if (out != NULL) {
                json_line(out, at, verdict, seen, first);
            }
            first = false;
        }
    }
    if (out != NULL) {
        fputs("\n]\n", out);
        fclose(out);
    }
    return unexpected != 0 ? 1 : 0;
}

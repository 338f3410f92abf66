/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_arguments [--remote] [--real] LIBRARY: runs the table on a driver library, one line per
 * case:
 *
 *     CALL PARAMETER HOW -> CODE [then CODE] [changed PARAMETER]
 *
 * `then`: the context says an error after the case, which it must not. `changed`: a failing call
 * has written an output. --remote: without the calls that the client library has not; --real:
 * without the cases in which only our own libraries are sure not to crash. When all have run, a
 * right program must still run in the same process; its child after a fork is as if it had not
 * initialised CUDA, and what differs there is a line; then a fault condemns the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

static bool remote, real;
static CUresult *uninitialised; /* what each call has given before cuInit */

static const char *code(CUresult result)
{
    static char number[2][32];
    static int turn;
    const char *name = NULL;
    if (driver.cuGetErrorName(result, &name) == CUDA_SUCCESS && name != NULL) {
        return strncmp(name, "CUDA_ERROR_", 11) == 0 ? name + 11 : name + 5;
    }
    turn = !turn;
    snprintf(number[turn], sizeof number[turn], "%d", (int)result);
    return number[turn];
}

static void begin(const struct call *call, const char *param, const char *how)
{
    printf("%s %s %s -> ", call->name, param, how);
    fflush(stdout); /* so that a crash names its case */
}

static void end(const struct call *call, CUresult result)
{
    fputs(code(result), stdout);
    for (unsigned i = 0; result != CUDA_SUCCESS && i < call->params; i++) {
        bool changed = false;
        for (unsigned k = 0; k < TABLE_ROOM && (call->kept >> i & 1) != 0; k++) {
            changed = changed || table_rooms[i][k] != TABLE_PATTERN;
        }
        if (changed) {
            printf(" changed %s", call->names[i]);
        }
    }
}

/* An error that the case has left behind would show here, and nowhere else. */
static void settle(void)
{
    table_context();
    good_capture_end();
    CUresult late = driver.cuCtxSynchronize();
    if (late != CUDA_SUCCESS) {
        printf(" then %s", code(late));
    }
    putchar('\n');
    late = driver.cuCtxSynchronize();
    if (late != CUDA_SUCCESS) {
        printf("the context is lost: %s\n", code(late));
        exit(1);
    }
    good_other_wait(); /* the next case uses the same memory */
}

static bool runs(const struct call *call)
{
    return call->remote || !remote;
}

/* ---- the table */

static void run_uninitialised(const struct call *call)
{
    uint64_t values[ARGUMENTS_MAX] = {0};
    if (strcmp(call->name, "cuInit") == 0) {
        return;
    }
    for (unsigned i = 0; i < call->params; i++) {
        memset(table_rooms[i], TABLE_PATTERN, TABLE_ROOM);
        if ((call->rooms >> i & 1) != 0) {
            values[i] = (uint64_t)(uintptr_t)table_rooms[i];
        }
    }
    begin(call, "-", "uninitialised");
    uninitialised[call - calls] = call->run(values);
    end(call, uninitialised[call - calls]);
    putchar('\n');
}

static void run_right(const struct call *call)
{
    uint64_t values[ARGUMENTS_MAX];
    table_fill(call, values);
    begin(call, "-", "right");
    end(call, call->run(values));
    settle();
}

static void run_wrong(const struct wrong *wrong)
{
    const struct call *call = wrong->call;
    uint64_t values[ARGUMENTS_MAX];
    char params[128];

    table_fill(call, values);
    values[wrong->param] = wrong->value.make != NULL ? wrong->value.make() : wrong->value.number;
    snprintf(params, sizeof params, "%s", call->names[wrong->param]);
    if (wrong->also >= 0) {
        values[wrong->also] = 0;
        snprintf(params, sizeof params, "%s+%s", call->names[wrong->param],
                 call->names[wrong->also]);
    }
    begin(call, params, wrong->how);
    end(call, call->run(values));
    settle();
}

/* No context is current; or one that has been destroyed. */
static void run_without_context(const struct call *call, bool dead)
{
    CUcontext context = NULL;
    uint64_t values[ARGUMENTS_MAX];

    table_fill(call, values);
    MUST(driver.cuCtxPopCurrent_v2(&context));
    if (dead) {
        MUST(driver.cuCtxCreate_v2(&context, 0, 0));
        MUST(driver.cuCtxPushCurrent_v2((CUcontext)good_context()));
        MUST(driver.cuCtxDestroy_v2(context));
        MUST(driver.cuCtxPopCurrent_v2(&context));
    }
    begin(call, "-", dead ? "destroyed_context" : "no_context");
    end(call, call->run(values));
    settle();
}

static void run_all(void)
{
    unsigned next = 0;
    for (unsigned i = 0; i < call_count; i++) {
        const struct call *call = &calls[i];
        bool here = runs(call);
        if (here) {
            run_right(call);
        }
        for (; next < wrong_count && wrongs[next].call == call; next++) {
            if (here && !(real && wrongs[next].ours)) {
                run_wrong(&wrongs[next]);
            }
        }
        if (here) {
            run_without_context(call, false);
        }
        if (here && !real) {
            run_without_context(call, true);
        }
    }
}

typedef uint64_t arguments[ARGUMENTS_MAX];

/* For all calls at once. */
static arguments *all_arguments(void)
{
    arguments *values = calloc(call_count + 1, sizeof *values);
    for (unsigned i = 0; i < call_count; i++) {
        if (runs(&calls[i])) {
            table_fill(&calls[i], values[i]);
        }
    }
    good_capture_end();
    return values;
}

static void run_forked(const arguments *values)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < call_count; i++) {
            memset(table_rooms, TABLE_PATTERN, sizeof table_rooms);
            CUresult result = runs(&calls[i]) ? calls[i].run(values[i]) : uninitialised[i];
            if (result != uninitialised[i]) {
                begin(&calls[i], "-", "forked");
                end(&calls[i], result);
                putchar('\n');
            }
        }
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    bool ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    printf(ended ? "a child has tried them all\n" : "the child's status is 0x%x\n", status);
}

/* In a process that a fault has condemned. All arguments are made before. */
static void run_condemned(const arguments *values)
{
    good_fault();
    for (unsigned i = 0; i < call_count; i++) {
        if (runs(&calls[i])) {
            (void)driver.cuCtxSetCurrent((CUcontext)good_context());
            memset(table_rooms, TABLE_PATTERN, sizeof table_rooms);
            begin(&calls[i], "-", "condemned");
            end(&calls[i], calls[i].run(values[i]));
            putchar('\n');
        }
    }
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        remote = remote || strcmp(argv[at], "--remote") == 0;
        real = real || strcmp(argv[at], "--real") == 0;
    }
    if (at + 1 != argc) {
        fprintf(stderr, "usage: wrong_arguments [--remote] [--real] LIBRARY\n");
        return 2;
    }
    table_open(argv[at]);
    uninitialised = calloc(call_count + 1, sizeof *uninitialised);
    for (unsigned i = 0; i < call_count; i++) {
        if (runs(&calls[i])) {
            run_uninitialised(&calls[i]);
        }
    }
    MUST(driver.cuInit(0));
    good_make(argv[0]);
    run_all();
    good_program();
    printf("a right program still runs\n");
    arguments *values = all_arguments();
    if (!real) {
        run_forked(values);
        good_program();
    }
    run_condemned(values);
    free(values);
    good_end();
    for (unsigned i = 0; calls_without_arguments[i] != NULL; i++) {
        printf("%s: no right arguments in tests/arguments/calls.txt\n", calls_without_arguments[i]);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses all of CUDA, with a broken or hostile server: recorded answers of a real
 * server are replayed with mutations (semantics S149). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/fuzz/counters.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/program.h"
#include "tests/fuzz/real_server.h"
#include "tests/fuzz/tape.h"

#define SECONDS_MAX 20 /* a program that runs so long has been made to wait for ever */

/* How data went when it was recorded. */
static const char *const ways[][2] = {{"tcp", "off"}, {"auto", "off"}, {"tcp", "always"}};
#define WAYS (sizeof ways / sizeof *ways)

static struct tape *tapes[WAYS];

/* Runs a program in a child. */
static void child_run(size_t way, uint32_t parts, bool good)
{
    (void)alarm(SECONDS_MAX);
    (void)signal(SIGALRM, SIG_DFL);
    setenv("GPUAAS_TRANSPORT", ways[way][0], 1);
    setenv("GPUAAS_COMPRESSION", ways[way][1], 1);
    if (good) {
        setenv("FUZZ_VERBOSE", "1", 1);
    }
    program_run(parts);
    mutation_canary_check();
    FUZZ_CHECK(!good || program_errors() == 0);
    counters_give();
    _exit(0);
}

static void wait_child(pid_t pid)
{
    int status;
    FUZZ_CHECK(pid > 0);
    while (waitpid(pid, &status, 0) != pid) {
        FUZZ_CHECK(errno == EINTR); /* a signal of libFuzzer's */
    }
    if (status != 0) {
        fprintf(stderr, "the program has ended with status %x\n", (unsigned)status);
        abort();
    }
}

/* With a real server, and with its tape, all is right. The answers may depend on the time; the tape
 * is checked only where they do not. */
static void tape_check(size_t way)
{
    tapes[way] = tape_make();
    pid_t pid = fork();
    if (pid == 0) {
        tape_record(tapes[way]);
        child_run(way, UINT32_MAX, true);
    }
    wait_child(pid);
    pid = fork();
    if (pid == 0) {
        tape_play(tapes[way], NULL, 0, false, false);
        child_run(way, PROGRAM_STEADY, true);
    }
    wait_child(pid);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    counters_share();
    mutation_canary_make();
    struct real_server server = real_server_start();
    setenv("GPUAAS_SERVERS", server.address, 1);
    for (size_t i = 0; i < WAYS; i++) {
        tape_check(i);
    }
    real_server_end(&server);
    return 0;
}

/* An input: which way, which parts, then mutations. */
struct head {
    uint8_t way, pieces;
    uint16_t unused;
    uint32_t parts;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct head head;
    static struct mutation mutations[64];
    if (size < sizeof head) {
        return 0;
    }
    memcpy(&head, data, sizeof head);
    size_t count = (size - sizeof head) / sizeof *mutations;
    count = count < 64 ? count : 64;
    memcpy(mutations, data + sizeof head, count * sizeof *mutations);
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        FUZZ_CHECK(nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0);
        tape_play(tapes[head.way % WAYS], mutations, count, (head.pieces & 3) == 3, true);
        child_run(head.way % WAYS, head.parts, false);
    }
    wait_child(pid);
    counters_take();
    return 0;
}

/* Half of the time a mutation of something that was said. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t random = seed + UINT64_C(0x9e3779b97f4a7c15);
    struct head head = {.parts = UINT32_MAX};
    struct mutation mutation;
    (void)fuzz_random(&random);
    if (size < sizeof head) {
        memcpy(data, &head, sizeof head);
        size = sizeof head;
    }
    size -= (size - sizeof head) % sizeof mutation;
    uint64_t what = fuzz_random(&random) % 8;
    if (what == 0) {
        return LLVMFuzzerMutate(data, size, most);
    }
    if (what == 1) {
        head = (struct head){.way = (uint8_t)fuzz_random(&random),
                             .pieces = (uint8_t)fuzz_random(&random),
                             .parts = (uint32_t)fuzz_random(&random)};
        memcpy(data, &head, sizeof head);
    }
    memcpy(&head, data, sizeof head);
    tape_some(tapes[head.way % WAYS], fuzz_random(&random) >> 1, &mutation);
    mutation.action = (uint8_t)(fuzz_random(&random) % MUTATION_ACTIONS);
    mutation.at = (uint16_t)(fuzz_random(&random) % (1u << (1 + fuzz_random(&random) % 12)));
    mutation.value = fuzz_random(&random) >> fuzz_random(&random) % 64;
    size_t count = (size - sizeof head) / sizeof mutation, at = count;
    if (count != 0 && (what < 5 || size + sizeof mutation > most || count > 8)) {
        at = fuzz_random(&random) % count;
    }
    if (sizeof head + (at + 1) * sizeof mutation <= most) {
        memcpy(data + sizeof head + at * sizeof mutation, &mutation, sizeof mutation);
        size = at == count ? size + sizeof mutation : size;
    }
    return size;
}

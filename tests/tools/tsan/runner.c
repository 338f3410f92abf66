/* SPDX-License-Identifier: Apache-2.0 */
/* Runs criterion's tests without criterion's library, for the tsan preset only: the library places
 * a shared arena at addresses that ThreadSanitizer reserves, and dies. Here each test is a plain
 * fork.
 *
 * Note: this file replaces the library, so it defines the names that criterion's headers call; only
 * those that our tests use are here, any other fails to link.
 *
 * Usage: the test's binary [SUITE/TEST]. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The linker's names for the bounds of the sections that Test() and TestSuite() fill. The second
 * may be empty, hence weak. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* A sanitized test takes several times as long. */
enum { TIMEOUT_FACTOR = 5, TIMEOUT_DEFAULT_S = 250 };

struct criterion_options criterion_options;
static struct criterion_test *current;
static struct criterion_suite *current_suite;
static bool failed; /* in the test's process */

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    failed = failed || !stats->passed;
    fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_abort_test(void)
{
    _exit(1); /* a test's other threads may still run: no destructors */
}

void criterion_continue_test(void)
{
}

void cri_asserts_passed_incr(void)
{
}

char *cr_translate_assert_msg(int index, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, index);
    const char *expression = va_arg(arguments, const char *);
    va_end(arguments);
    if (asprintf(&text, "does not hold: %s", expression) < 0)
        abort();
    return text;
}

int cr_asprintf(char **text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

static void call(void (*function)(void))
{
    if (function)
        function();
}

void criterion_internal_test_setup(void)
{
    if (current_suite && current_suite->data)
        call(current_suite->data->init);
    call(current->data->init);
}

void criterion_internal_test_main(void (*function)(void))
{
    function();
}

void criterion_internal_test_teardown(void)
{
    call(current->data->fini);
    if (current_suite && current_suite->data)
        call(current_suite->data->fini);
}

static struct criterion_suite *suite_of(const struct criterion_test *test)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++) {
        if (*s && !strcmp((*s)->name, test->category))
            return *s;
    }
    return NULL;
}

static unsigned timeout_s(void)
{
    double own = current->data->timeout;

    if (own <= 0 && current_suite && current_suite->data)
        own = current_suite->data->timeout;
    return own > 0 ? (unsigned)own * TIMEOUT_FACTOR : TIMEOUT_DEFAULT_S;
}

static bool run(struct criterion_test *test)
{
    current = test;
    current_suite = suite_of(test);
    fprintf(stderr, "%s/%s\n", test->category, test->name);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(timeout_s()); /* ends the process by SIGALRM */
        test->test();
        fflush(NULL);
        if (failed)
            _exit(1);
        exit(0); /* with ThreadSanitizer's verdict as exit status, if it has one */
    }
    int status = 0;
    pid_t ended;
    do {
        ended = pid < 0 ? -1 : waitpid(pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    bool right =
        ended == pid &&
        (WIFSIGNALED(status) ? WTERMSIG(status) == test->data->signal
                             : WEXITSTATUS(status) == test->data->exit_code && !test->data->signal);
    if (!right)
        fprintf(stderr, "FAILED: %s/%s (%s %d)\n", test->category, test->name,
                WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return right;
}

int main(int argc, char **argv)
{
    int total = 0, wrong = 0;

    for (struct criterion_test **test = __start_cr_tst; test < __stop_cr_tst; test++) {
        if (!*test || (*test)->data->disabled)
            continue;
        if (argc > 1 && strcmp(argv[1], (*test)->data->identifier_) != 0)
            continue;
        total++;
        wrong += !run(*test);
    }
    printf("%d tests, %d failed\n", total, wrong);
    return wrong || !total;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* printf in kernels: records that reach the launch's printer. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static struct collector {
    struct sg_printer printer; /* first */
    pthread_mutex_t lock;
    char text[1 << 20];
    size_t used, records;
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void collect(struct sg_printer *printer, enum sg_output output, const char *text,
                    size_t bytes, uint32_t charge)
{
    struct collector *to = (struct collector *)printer;
    pthread_mutex_lock(&to->lock);
    if (output == SG_OUTPUT_STDOUT && charge > 8 && to->used + bytes < sizeof to->text) {
        memcpy(to->text + to->used, text, bytes);
        to->used += bytes;
        to->text[to->used] = '\0';
        to->records++;
    }
    pthread_mutex_unlock(&to->lock);
}

static void open_print(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "print");
    collector.printer.write = collect;
    engine.printer = &collector.printer;
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(print, .init = open_print, .fini = shut);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

Test(print, all_types)
{
    int *result = engine_memory(&engine, 64), i = -42;
    long long l = -1234567890123;
    double d = 1234.5678;
    ENGINE_LAUNCH(&engine, "all_types", 1, 1, 0, (uint32_t)i, (uint64_t)l, engine_f64(d),
                  PTR(result));
    no_fault();
    char want[1000];
    int at = snprintf(want, sizeof want, "%d %u %x %5d|%-5d|%05d %lld %llx %c %s %%\n", i,
                      (unsigned)i, (unsigned)i, i, i, i, l, (unsigned long long)l, 'x', "text");
    at += snprintf(want + at, sizeof want - (size_t)at, "%f %e %g %a %.3f %10.2f|%-10.2f|\n", d, d,
                   d, d, d, d, d);
    at += snprintf(want + at, sizeof want - (size_t)at, "nothing\n%hd %hhd %p\n", (short)i, (char)i,
                   (void *)0x1234);
    snprintf(want + at, sizeof want - (size_t)at, "%*d|%.*f\n", 7, i, 2, d);
    cr_assert_str_eq(collector.text, want);
    static const int results[] = {10, 7, 0, 3, 4, -1};
    for (int k = 0; k < 6; k++) {
        cr_assert_eq(result[k], results[k], "printf number %d gives %d", k, result[k]);
    }
}

Test(print, each_thread_prints_once_and_those_of_a_warp_in_order)
{
    enum { BLOCKS = 7, THREADS = 100 };
    ENGINE_LAUNCH(&engine, "each_thread", BLOCKS, THREADS, 0);
    no_fault();
    cr_assert_eq(collector.records, BLOCKS * THREADS);
    int seen[BLOCKS][THREADS] = {{0}}, last[BLOCKS][4];
    memset(last, -1, sizeof last);
    for (const char *line = strtok(collector.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int block, thread, end = 0;
        cr_assert(sscanf(line, "block %d thread %d%n", &block, &thread, &end) == 2 &&
                      line[end] == '\0' && block >= 0 && block < BLOCKS && thread >= 0 &&
                      thread < THREADS,
                  "\"%s\"", line);
        seen[block][thread]++;
        cr_assert_gt(thread, last[block][thread / 32]);
        last[block][thread / 32] = thread;
    }
    for (int b = 0; b < BLOCKS; b++) {
        for (int t = 0; t < THREADS; t++) {
            cr_assert_eq(seen[b][t], 1, "block %d thread %d: %d", b, t, seen[b][t]);
        }
    }
}

Test(print, only_those_print_who_call)
{
    int *result = engine_memory(&engine, 40 * 4);
    ENGINE_LAUNCH(&engine, "some_threads", 1, 40, 0, PTR(result));
    no_fault();
    char want[1000] = "";
    for (int t = 0; t < 40; t++) {
        cr_assert_eq(result[t], t % 3 == 1 ? 2 : -7);
        if (t % 3 == 1) {
            size_t at = strlen(want);
            snprintf(want + at, sizeof want - at, "thread %d of 40\n", t);
        }
    }
    cr_assert_str_eq(collector.text, want);
}

Test(print, strings_of_all_spaces)
{
    int *result = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "strings", 1, 32, 0, PTR(result));
    no_fault();
    cr_assert_str_eq(collector.text, "shared sha   shared|shared  |\n"
                                     "loca at the bottom, 13\nlocb at 1\nlocc at 2\nlocd at 3\n");
    cr_assert_eq(*result, 2 + 3 * 2);
}

static char *device_text(const char *text)
{
    char *copy = engine_memory(&engine, strlen(text) + 1);
    memcpy(copy, text, strlen(text) + 1);
    return copy;
}

Test(print, formats_of_the_program)
{
    int *result = engine_memory(&engine, 4);
    char *format = device_text("%lld-%n-%llx");
    ENGINE_LAUNCH(&engine, "formats", 1, 1, 0, PTR(format), 5, 255, PTR(result));
    no_fault();
    cr_assert_str_eq(collector.text, "5-%n-ff");
    cr_assert_eq(*result, 2);
}

Test(print, a_bad_format_or_string_is_a_fault)
{
    int *result = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "formats", 1, 1, 0, 0x10, 5, 255, PTR(result));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, 0x10);
    char *format = device_text("%s");
    ENGINE_LAUNCH(&engine, "formats", 1, 1, 0, PTR(format), 0x50, 255, PTR(result));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, 0x50);
    cr_assert_eq(collector.records, 0);
    char *cut = engine_memory(&engine, SG_MAP_CHUNK); /* followed by memory that is not its own */
    memset(cut, 'a', SG_MAP_CHUNK);
    ENGINE_LAUNCH(&engine, "formats", 1, 1, 0, PTR(cut) + SG_MAP_CHUNK - 100, 1, 1, PTR(result));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, PTR(cut) + SG_MAP_CHUNK);
}

Test(print, nobody_listens)
{
    int *result = engine_memory(&engine, 40 * 4);
    engine.printer = NULL;
    ENGINE_LAUNCH(&engine, "some_threads", 1, 40, 0, PTR(result));
    no_fault();
    cr_assert_eq(result[1], 2);
}

Test(print, kernels_that_print_say_so)
{
    cr_assert(sg_program_kernel_find(engine.program, "strings")->prints);
    engine_load_file(&engine, "basic");
    cr_assert_not(sg_program_kernel_find(engine.program, "vector_add")->prints);
}

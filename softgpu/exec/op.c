/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by name, for the instruction set of this machine. */
#include "softgpu/exec/op.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 2048

struct entry {
    const char *name;
    size_t length;
    const struct sg_op *op;
};

static struct entry buckets[BUCKETS];
static const struct sg_isa *isa;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct entry *op_table_slot(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    }
    size_t at = hash % BUCKETS;
    while (buckets[at].name != NULL &&
           (buckets[at].length != length || memcmp(buckets[at].name, name, length) != 0)) {
        at = (at + 1) % BUCKETS;
    }
    return &buckets[at];
}

static void op_table_insert(const char *name, size_t length, const struct sg_op *op)
{
    struct entry *slot = op_table_slot(name, length);
    if (slot->name != NULL || op == NULL) {
        abort(); /* op.def names an operation twice, or an alias of an unknown one */
    }
    *slot = (struct entry){name, length, op};
}

bool sg_isa_v3_runs_here(void)
{
#ifdef __clang__
    return false; /* a build for fuzzing, which cannot test for all of these */
#else
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("f16c") &&
           __builtin_cpu_supports("movbe");
#endif
}

static void op_table_fill(void)
{
    const char *wanted = getenv("SOFTGPU_ISA");
    bool base = wanted != NULL && strcmp(wanted, "base") == 0;
    isa = !base && sg_isa_v3_runs_here() ? sg_isa_v3() : sg_isa_base();
    for (int aliases = 0; aliases < 2; aliases++) {
        for (size_t l = 0; l < sizeof isa->lists / sizeof isa->lists[0]; l++) {
            struct sg_op_list list = isa->lists[l]();
            for (size_t i = 0; i < list.count; i++) {
                const struct sg_op *op = &list.ops[i];
                const char *equals = strchr(op->name, '=');
                if (equals == NULL && !aliases) {
                    op_table_insert(op->name, strlen(op->name), op);
                } else if (equals != NULL && aliases) {
                    op_table_insert(op->name, (size_t)(equals - op->name),
                                    op_table_slot(equals + 1, strlen(equals + 1))->op);
                }
            }
        }
    }
}

const struct sg_isa *sg_isa_here(void)
{
    pthread_once(&once, op_table_fill);
    return isa;
}

const struct sg_op *sg_op_find(const char *name)
{
    sg_isa_here();
    return op_table_slot(name, strlen(name))->op;
}

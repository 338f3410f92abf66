/* SPDX-License-Identifier: Apache-2.0 */
/* A bit per range. New ranges are taken in order, so that a pointer to a function of a program that
 * is gone means nothing in later ones. */
#include "softgpu/exec/code_ranges.h"

#include <pthread.h>

#include "softgpu/exec/insn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t in_use[SG_CODE_RANGES / 64]; /* 2 MiB, of which only touched pages cost memory */
static uint32_t next;                        /* the first number that was never taken */

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << (number % 64);
}

uint64_t sg_code_range_take(void)
{
    uint64_t base = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t tried = 0; base == 0 && tried < SG_CODE_RANGES; tried++) {
        uint32_t number = next;
        next = (next + 1) % SG_CODE_RANGES;
        if ((in_use[number / 64] & bit_of(number)) == 0) {
            in_use[number / 64] |= bit_of(number);
            base = SG_CODE_BASE + number * SG_CODE_BYTES;
        }
    }
    pthread_mutex_unlock(&lock);
    return base;
}

enum sg_code_range sg_code_range_place(uint64_t base)
{
    uint64_t number = (base - SG_CODE_BASE) / SG_CODE_BYTES;
    if (base < SG_CODE_BASE || base % SG_CODE_BYTES != 0 || number >= SG_CODE_RANGES) {
        return SG_CODE_RANGE_WRONG;
    }
    pthread_mutex_lock(&lock);
    bool free = (in_use[number / 64] & bit_of((uint32_t)number)) == 0;
    if (free) {
        in_use[number / 64] |= bit_of((uint32_t)number);
        if (number >= next) { /* of another process: ours go on behind it */
            next = (uint32_t)((number + 1) % SG_CODE_RANGES);
        }
    }
    pthread_mutex_unlock(&lock);
    return free ? SG_CODE_RANGE_TAKEN : SG_CODE_RANGE_IN_USE;
}

void sg_code_range_give(uint64_t base)
{
    if (base == 0) {
        return;
    }
    uint32_t number = (uint32_t)((base - SG_CODE_BASE) / SG_CODE_BYTES);
    pthread_mutex_lock(&lock);
    in_use[number / 64] &= ~bit_of(number);
    pthread_mutex_unlock(&lock);
}

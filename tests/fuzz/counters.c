/* SPDX-License-Identifier: Apache-2.0 */
/* See counters.h. The linker makes the names of the section's ends. The compiler refers to them
 * itself in files that have counters, which this one must not be. */
#include "tests/fuzz/counters.h"

#include "tests/fuzz/input.h"

#ifdef FUZZ_COUNTERS
#include <sys/mman.h>

#define UNCOUNTED __attribute__((no_sanitize("coverage", "address")))

extern uint8_t first[] __asm__("__start___sancov_cntrs");
extern uint8_t last[] __asm__("__stop___sancov_cntrs");
static uint8_t *shared;

UNCOUNTED static size_t bytes(void)
{
    return (size_t)((uintptr_t)last - (uintptr_t)first);
}

UNCOUNTED void counters_share(void)
{
    shared = mmap(NULL, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(shared != MAP_FAILED);
}

UNCOUNTED void counters_give(void)
{
    memcpy(shared, first, bytes());
}

UNCOUNTED void counters_take(void)
{
    memcpy(first, shared, bytes());
}
#else
void counters_share(void)
{
}

void counters_give(void)
{
}

void counters_take(void)
{
}
#endif

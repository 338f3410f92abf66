/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/readable.h"

Test(readable, up_to_the_last_byte)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    cr_assert_eq(mprotect(memory + 2 * page, page, PROT_NONE), 0);
    errno = 7;
    cr_assert(ga_readable(memory, 2 * page));
    cr_assert(ga_readable(memory + 2 * page - 8, 8));
    cr_assert_not(ga_readable(memory + 2 * page - 8, 9));
    cr_assert_not(ga_readable(memory + 2 * page, 1));
    cr_assert_not(ga_readable(memory, 3 * page));
    cr_assert_eq(munmap(memory + page, page), 0);
    cr_assert(ga_readable(memory, page));
    cr_assert_not(ga_readable(memory, page + 1));
    cr_assert_eq(errno, 7);
}

Test(readable, odd_ranges)
{
    cr_assert(ga_readable(NULL, 0));
    cr_assert_not(ga_readable(NULL, 1));
    cr_assert_not(ga_readable((void *)(UINTPTR_MAX - 7), 16));
}

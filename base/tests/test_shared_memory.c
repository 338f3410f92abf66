/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for two processes: descriptors that are accepted from another process, and those that
 * are refused. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/shared_memory.h"

#define BYTES (UINT64_C(5) << 20)

Test(shared_memory, what_is_made_is_good_and_both_see_it)
{
    int fd = ga_shared_memory_make("test", BYTES);
    cr_assert(fd > STDERR_FILENO);
    cr_assert(ga_shared_memory_is(fd, BYTES));
    cr_assert_not(ga_shared_memory_is(fd, BYTES - 4096), "its size is another");
    uint8_t *one = ga_shared_memory_map(fd, BYTES, NULL);
    uint8_t *reserved =
        mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint8_t *two = ga_shared_memory_map(fd, BYTES, reserved);
    cr_assert_not_null(one);
    cr_assert_eq(two, reserved);
    one[0] = 7;
    one[BYTES - 1] = 8;
    cr_assert_eq(two[0], 7);
    cr_assert_eq(two[BYTES - 1], 8);
    cr_assert_neq(ftruncate(fd, 0), 0, "nobody can take it away");
    munmap(one, BYTES);
    munmap(two, BYTES);
    close(fd);
}

Test(shared_memory, memory_that_could_go_away_is_not_taken)
{
    int plain = memfd_create("test", MFD_CLOEXEC), sealed = -1;
    cr_assert_eq(ftruncate(plain, (off_t)BYTES), 0);
    cr_assert_not(ga_shared_memory_is(plain, BYTES), "it has no seals");
    sealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(sealed, (off_t)BYTES), 0);
    cr_assert_not(ga_shared_memory_is(sealed, BYTES), "it can shrink");
    cr_assert_eq(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    cr_assert(ga_shared_memory_is(sealed, BYTES));
    int huge = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (huge >= 0 && ftruncate(huge, 2 << 20) == 0) {
        cr_assert_eq(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        cr_assert_not(ga_shared_memory_is(huge, 2u << 20), "its pages may run out");
    }
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    cr_assert_not(ga_shared_memory_is(file, 0));
    cr_assert_not(ga_shared_memory_is(-1, BYTES));
    close(file);
    close(plain);
    close(sealed);
    if (huge >= 0) {
        close(huge);
    }
}

Test(shared_memory, what_cannot_be_mapped_is_told)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(fd, (off_t)BYTES), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    cr_assert_null(ga_shared_memory_map(fd, BYTES, NULL), "it can only be read");
    cr_assert_null(ga_shared_memory_map(fd, UINT64_MAX & ~UINT64_C(4095), NULL));
    close(fd);
    cr_assert_eq(ga_shared_memory_make("test", UINT64_MAX), -1);
}

Test(shared_memory, what_is_frozen_is_read_by_all_and_written_by_nobody)
{
    int fd = ga_shared_memory_begin("test", BYTES);
    cr_assert_geq(fd, 0);
    uint8_t *bytes = ga_shared_memory_map(fd, BYTES, NULL);
    cr_assert_not_null(bytes);
    bytes[BYTES - 1] = 5;
    cr_assert_not(ga_shared_memory_freeze(fd), "somebody may still write");
    cr_assert_not(ga_shared_memory_is_frozen(fd, BYTES));
    cr_assert_eq(munmap(bytes, BYTES), 0);
    cr_assert(ga_shared_memory_freeze(fd));
    cr_assert(ga_shared_memory_is_frozen(fd, BYTES));
    cr_assert_not(ga_shared_memory_is_frozen(fd, BYTES + 1), "its size is another");
    cr_assert_null(ga_shared_memory_map(fd, BYTES, NULL));
    const uint8_t *seen = ga_shared_memory_map_frozen(fd, BYTES);
    cr_assert_not_null(seen);
    cr_assert_eq(seen[BYTES - 1], 5);
    cr_assert_eq(munmap((void *)(uintptr_t)seen, BYTES), 0);
    close(fd);
    cr_assert_null(ga_shared_memory_map_frozen(fd, BYTES));
    cr_assert_eq(ga_shared_memory_begin("test", UINT64_MAX), -1);
}

Test(shared_memory, what_is_published_is_written_by_its_maker_alone)
{
    int fd;
    uint8_t *bytes = ga_shared_memory_publish("test", BYTES, &fd);
    cr_assert_not_null(bytes);
    const uint8_t *seen = ga_shared_memory_map_published(fd, BYTES);
    cr_assert_not_null(seen);
    cr_assert_neq(mprotect((void *)(uintptr_t)seen, BYTES, PROT_READ | PROT_WRITE), 0);
    cr_assert_null(ga_shared_memory_map(fd, BYTES, NULL));
    cr_assert_lt(write(fd, "x", 1), 0);
    cr_assert(ga_shared_memory_is(fd, BYTES));
    bytes[BYTES - 1] = 5;
    cr_assert_eq(seen[BYTES - 1], 5);
    cr_assert_eq(munmap((void *)(uintptr_t)seen, BYTES), 0);
    cr_assert_eq(munmap(bytes, BYTES), 0);
    close(fd);
    cr_assert_null(ga_shared_memory_publish("test", UINT64_MAX, &fd));
    cr_assert_eq(fd, -1);
}

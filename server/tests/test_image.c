/* SPDX-License-Identifier: Apache-2.0 */
/* Images of modules: once each, unchangeable, charged as long as they are used. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/constants.h"
#include "api/wire.h"
#include "base/shared_memory.h"
#include "server/image/image.h"
#include "server/tests/fake_ledger.h"

#define SMALL (API_IMAGE_NAMED_MIN - 1)
#define LARGE (API_IMAGE_NAMED_MIN + 5)

static struct image_table table;
static const uint8_t one[TRANSPORT_DIGEST_BYTES] = {1, 1}, two[TRANSPORT_DIGEST_BYTES] = {2, 2};

static void setup(void)
{
    image_table_init(&table, &fake_ledger);
}

static void teardown(void)
{
    cr_expect_eq(fake_figure(FIGURE_HOST_BYTES), 0, "everything has been given back");
}

TestSuite(image, .init = setup, .fini = teardown);

/* Filled with `fill`, what the wire pads it with too. */
static struct image *make(uint64_t size, int fill, const uint8_t *name, int *fd)
{
    struct image *image;
    cr_assert_eq(image_begin(&table, size, &image), CUDA_SUCCESS);
    memset(image_room(image), fill, wire_padded(size));
    cr_assert_eq(image_finish(&image, name, fd), CUDA_SUCCESS);
    return image;
}

static bool is_filled(const struct image *image, int fill)
{
    for (uint64_t i = 0; i < image_size(image); i++) {
        if (image_bytes(image)[i] != fill) {
            return false;
        }
    }
    return image_bytes(image)[image_size(image)] == 0;
}

Test(image, small_ones_are_the_processs_own)
{
    int fd;
    struct image *image = make(SMALL, 7, NULL, &fd);
    cr_expect_eq(fd, -1);
    cr_expect(is_filled(image, 7));
    cr_expect_eq(fake_figure(FIGURE_HOST_BYTES), wire_padded(SMALL) + 1);
    image_unref(image);
}

Test(image, of_no_bytes_is_one)
{
    int fd;
    struct image *image = make(0, 7, NULL, &fd);
    cr_expect_eq(image_size(image), 0);
    cr_expect_eq(image_bytes(image)[0], 0);
    image_unref(image);
}

Test(image, large_ones_lie_in_memory_that_nobody_can_change)
{
    int fd, other;
    struct image *image = make(LARGE, 7, one, &fd);
    cr_assert_geq(fd, 0);
    cr_expect(is_filled(image, 7));
    cr_expect(ga_shared_memory_is_frozen(fd, wire_padded(LARGE) + 1));
    cr_expect_null(ga_shared_memory_map(fd, LARGE, NULL));
    cr_expect_eq(pwrite(fd, "x", 1, 0), -1);
    const uint8_t *theirs = ga_shared_memory_map_frozen(fd, wire_padded(LARGE) + 1);
    cr_assert_not_null(theirs);
    cr_expect_eq(memcmp(theirs, image_bytes(image), wire_padded(LARGE) + 1), 0);
    for (uint32_t i = LARGE; i <= wire_padded(LARGE); i++) {
        cr_expect_eq(theirs[i], 0, "what pads it is no part of it");
    }
    close(fd);
    other = dup(STDERR_FILENO);
    cr_expect_leq(other, fd, "no descriptor of it is open");
    close(other);
    image_unref(image);
}

/* The kernel itself tries to write. */
Test(image, cannot_be_written_when_it_is_finished)
{
    int fd, zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct image *image = make(LARGE, 7, one, &fd);
    cr_expect_eq(read(zeros, image->bytes, 1), -1);
    cr_expect_eq(errno, EFAULT);
    close(zeros);
    close(fd);
    image_unref(image);
}

Test(image, the_same_one_is_there_once)
{
    int fd;
    struct image *first = make(LARGE, 7, one, &fd);
    close(fd);
    uint64_t charged = fake_figure(FIGURE_HOST_BYTES);
    struct image *second = make(LARGE, 7, one, &fd);
    cr_expect_eq(second, first);
    cr_expect_eq(fd, -1, "it is known already");
    cr_expect_eq(fake_figure(FIGURE_HOST_BYTES), charged);
    struct image *another = make(LARGE, 8, two, &fd);
    close(fd);
    cr_expect_neq(another, first);
    image_unref(first);
    cr_expect(is_filled(second, 7), "it lives as long as anybody uses it");
    image_unref(second);
    cr_expect_null(image_find(&table, one, LARGE));
    image_unref(another);
}

Test(image, is_found_by_its_name_and_size)
{
    int fd;
    struct image *image = make(LARGE, 7, one, &fd), *nameless;
    close(fd);
    cr_expect_eq(image_find(&table, one, LARGE), image);
    cr_expect_null(image_find(&table, one, LARGE + 1));
    cr_expect_null(image_find(&table, two, LARGE));
    const uint8_t near[TRANSPORT_DIGEST_BYTES] = {1, 1, [31] = 1};
    cr_expect_null(image_find(&table, near, LARGE), "all of the name counts");
    nameless = make(LARGE, 9, NULL, &fd);
    close(fd);
    cr_expect(is_filled(nameless, 9));
    image_unref(nameless);
    image_unref(image);
    image_unref(image);
}

Test(image, is_refused_beyond_what_the_application_may_have)
{
    struct image *image;
    int fd;
    fake_ledger.most[FIGURE_HOST_BYTES] = wire_padded(LARGE);
    cr_expect_eq(image_begin(&table, LARGE, &image), CUDA_ERROR_OUT_OF_MEMORY);
    fake_ledger.most[FIGURE_HOST_BYTES]++;
    image = make(LARGE, 7, one, &fd);
    close(fd);
    image_unref(image);
    fake_ledger.most[FIGURE_HOST_BYTES] = UINT64_MAX;
}

Test(image, that_is_given_up_leaves_nothing)
{
    struct image *image;
    int before = dup(STDERR_FILENO);
    close(before);
    cr_assert_eq(image_begin(&table, LARGE, &image), CUDA_SUCCESS);
    image_unref(image);
    cr_assert_eq(image_begin(&table, SMALL, &image), CUDA_SUCCESS);
    image_unref(image);
    int after = dup(STDERR_FILENO);
    close(after);
    cr_expect_eq(after, before);
    image_unref(NULL);
}

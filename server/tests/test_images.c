/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasd's store of images: whose they are, how many there are, and which go first. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "api/wire.h"
#include "base/shared_memory.h"
#include "server/processes/images.h"

#define UNIT        (API_IMAGE_NAMED_MIN)
#define STORE_BYTES (16 * UNIT) /* a 512th of it is less than the smallest image */

static struct images store;
static const struct owner ann = {.kind = OWNER_USER, .id = {1}},
                          ben = {.kind = OWNER_USER, .id = {2}},
                          key = {.kind = OWNER_KEY, .id = {1}};

static void setup(void)
{
    images_init(&store, STORE_BYTES);
}

static void teardown(void)
{
    images_fini(&store);
    cr_expect_eq(store.held, 0);
    cr_expect(ga_list_empty(&store.holders));
}

TestSuite(images, .init = setup, .fini = teardown);

/* Frozen memory for an image of so many bytes, filled with its number. */
static int image_memory(uint64_t size, uint8_t number)
{
    uint64_t extent = (uint64_t)wire_padded(size) + 1;
    int fd = ga_shared_memory_begin("test", extent);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pwrite(fd, &number, 1, 0), 1);
    cr_assert(ga_shared_memory_freeze(fd));
    return fd;
}

static const uint8_t *name_of(uint8_t number)
{
    static uint8_t name[CHANNEL_KEY_BYTES];
    memset(name, 0, sizeof name);
    name[31] = number;
    return name;
}

static enum ga_status keep(const struct owner *owner, uint8_t number, uint64_t size)
{
    int fd = image_memory(size, number);
    enum ga_status status = images_keep(&store, owner, name_of(number), size, fd);
    if (status != GA_OK) {
        close(fd);
    }
    return status;
}

static bool has(const struct owner *owner, uint8_t number, uint64_t size)
{
    uint8_t first = 0;
    int fd = images_find(&store, owner, name_of(number), size);
    if (fd < 0) {
        return false;
    }
    cr_assert_eq(pread(fd, &first, 1, 0), 1);
    cr_expect_eq(first, number, "it is another image");
    return true;
}

static int lowest_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

Test(images, an_owner_finds_what_he_has_sent_and_nothing_else)
{
    cr_assert_eq(keep(&ann, 1, UNIT), GA_OK);
    cr_expect(has(&ann, 1, UNIT));
    cr_expect_not(has(&ann, 1, UNIT + 1), "its size is another");
    cr_expect_not(has(&ann, 2, UNIT), "nobody has sent it");
    cr_expect_not(has(&ben, 1, UNIT), "it is somebody else's");
    cr_expect_not(has(&key, 1, UNIT), "a user's number is not a key");
}

Test(images, who_sends_the_same_bytes_has_them_too)
{
    cr_assert_eq(keep(&ann, 1, UNIT), GA_OK);
    cr_assert_eq(keep(&ben, 1, UNIT), GA_OK);
    cr_expect_eq(store.held, 2 * UNIT, "each has his own");
    images_forget(&store, &ann);
    cr_expect_not(has(&ann, 1, UNIT));
    cr_expect(has(&ben, 1, UNIT));
    images_forget(&store, &ann);
}

Test(images, the_same_one_is_kept_once)
{
    int before = lowest_descriptor();
    cr_assert_eq(keep(&ann, 1, UNIT), GA_OK);
    cr_assert_eq(keep(&ann, 1, UNIT), GA_OK);
    cr_expect_eq(store.held, UNIT);
    images_forget(&store, &ann);
    cr_expect_eq(lowest_descriptor(), before, "its descriptors are closed");
}

Test(images, what_could_change_or_has_another_size_is_not_kept)
{
    int plain = ga_shared_memory_make("test", wire_padded(UNIT) + 1);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), UNIT, plain), GA_INVALID);
    close(plain);
    int frozen = image_memory(UNIT, 1), file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), 2 * UNIT, frozen), GA_INVALID);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), UNIT - 1, frozen), GA_INVALID);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), UNIT, file), GA_INVALID);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), UNIT, -1), GA_INVALID);
    cr_expect_eq(images_keep(&store, &ann, name_of(1), UINT64_MAX, frozen), GA_INVALID);
    close(frozen);
    close(file);
    cr_expect_eq(store.held, 0);
}

Test(images, the_one_used_longest_ago_goes_first)
{
    for (uint8_t i = 0; i < 16; i++) {
        cr_assert_eq(keep(&ann, i, UNIT), GA_OK);
    }
    cr_expect_eq(store.held, STORE_BYTES, "it is full");
    cr_expect(has(&ann, 0, UNIT), "and so used last");
    cr_assert_eq(keep(&ann, 16, 2 * UNIT), GA_OK);
    cr_expect_eq(store.held, STORE_BYTES);
    cr_expect_not(has(&ann, 1, UNIT));
    cr_expect_not(has(&ann, 2, UNIT));
    cr_expect(has(&ann, 0, UNIT));
    cr_expect(has(&ann, 3, UNIT));
    cr_expect(has(&ann, 16, 2 * UNIT));
}

Test(images, larger_than_the_store_is_not_kept_and_moves_nothing)
{
    cr_assert_eq(keep(&ann, 1, UNIT), GA_OK);
    cr_expect_eq(keep(&ann, 2, STORE_BYTES + 1), GA_NO_MEMORY);
    cr_expect(has(&ann, 1, UNIT));
    cr_assert_eq(keep(&ann, 3, STORE_BYTES), GA_OK);
    cr_expect_not(has(&ann, 1, UNIT));
}

Test(images, one_owner_does_not_drive_out_another)
{
    cr_assert_eq(keep(&ben, 100, 4 * UNIT), GA_OK);
    for (uint8_t i = 0; i < 40; i++) {
        cr_assert_eq(keep(&ann, i, UNIT), GA_OK);
    }
    cr_expect(has(&ben, 100, 4 * UNIT));
    cr_expect(has(&ann, 39, UNIT));
    cr_expect_not(has(&ann, 27, UNIT), "she has what he leaves");
    cr_expect_eq(store.held, STORE_BYTES);
}

Test(images, who_comes_late_gets_an_equal_share)
{
    for (uint8_t i = 0; i < 16; i++) {
        cr_assert_eq(keep(&ann, i, UNIT), GA_OK);
    }
    for (uint8_t i = 0; i < 16; i++) {
        cr_assert_eq(keep(&ben, i, UNIT), GA_OK);
    }
    unsigned of_ann = 0, of_ben = 0;
    for (uint8_t i = 0; i < 16; i++) {
        of_ann += has(&ann, i, UNIT);
        of_ben += has(&ben, i, UNIT);
    }
    cr_expect_eq(of_ann, 8);
    cr_expect_eq(of_ben, 8);
}

Test(images, what_would_drive_out_smaller_owners_is_not_kept)
{
    cr_assert_eq(keep(&ann, 1, 6 * UNIT), GA_OK);
    cr_assert_eq(keep(&key, 2, 6 * UNIT), GA_OK);
    cr_expect_eq(keep(&ben, 3, 7 * UNIT), GA_NO_MEMORY);
    cr_expect_not(has(&ben, 3, 7 * UNIT));
    cr_assert_eq(keep(&ben, 4, 4 * UNIT), GA_OK);
    cr_expect(has(&ann, 1, 6 * UNIT));
    cr_expect(has(&key, 2, 6 * UNIT));
}

Test(images, there_are_few_descriptors)
{
    images_fini(&store);
    images_init(&store, IMAGES_MAX * UNIT * 2);
    for (unsigned i = 0; i < IMAGES_MAX + 10; i++) {
        int fd = image_memory(UNIT, 0);
        uint8_t name[CHANNEL_KEY_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        cr_assert_eq(images_keep(&store, &ann, name, UNIT, fd), GA_OK);
    }
    unsigned count = 0;
    for (unsigned i = 0; i < IMAGES_MAX + 10; i++) {
        uint8_t name[CHANNEL_KEY_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        count += images_find(&store, &ann, name, UNIT) >= 0;
    }
    cr_expect_eq(count, IMAGES_MAX);
}

Test(images, a_store_of_nothing_keeps_nothing)
{
    images_init(&store, 0);
    cr_expect_eq(keep(&ann, 1, UNIT), GA_NO_MEMORY);
    cr_expect_not(has(&ann, 1, UNIT));
}

/* ---- requests of backend processes */

static bool ask(const struct owner *owner, uint32_t verb, uint8_t number, int *fd,
                struct channel_request *packet)
{
    *packet = (struct channel_request){.number = 7, .verb = verb, .bytes = UNIT};
    memcpy(packet->key, name_of(number), sizeof packet->key);
    return images_answer(&store, owner, packet, fd);
}

Test(images, unknown_and_somebody_elses_have_the_same_answer)
{
    struct channel_request nobodys, others, own;
    int fd = image_memory(UNIT, 1);
    cr_expect_not(ask(&ann, CHANNEL_IMAGE_KEEP, 1, &fd, &own), "there is no answer");
    cr_expect_eq(fd, -1);
    cr_expect(ask(&ben, CHANNEL_IMAGE_FIND, 1, &fd, &others));
    cr_expect_eq(fd, -1);
    cr_expect(ask(&ben, CHANNEL_IMAGE_FIND, 2, &fd, &nobodys));
    cr_expect_eq(fd, -1);
    memset(others.key, 0, sizeof others.key);
    memset(nobodys.key, 0, sizeof nobodys.key);
    cr_expect_eq(memcmp(&others, &nobodys, sizeof others), 0); /* NOLINT: no byte tells more */
    cr_expect_eq(others.result, CUDA_ERROR_NOT_FOUND);
    cr_expect(ask(&ann, CHANNEL_IMAGE_FIND, 1, &fd, &own));
    cr_expect_eq(own.result, CUDA_SUCCESS);
    cr_expect_eq(own.number, 7);
    cr_expect_geq(fd, 0);
    cr_expect(ask(NULL, CHANNEL_IMAGE_FIND, 1, &fd, &own));
    cr_expect_eq(own.result, CUDA_ERROR_NOT_FOUND, "its application has ended");
}

Test(images, descriptors_that_are_not_kept_are_closed)
{
    struct channel_request packet;
    int before = lowest_descriptor(), fd = image_memory(UNIT, 1);
    cr_expect(ask(&ann, CHANNEL_IMAGE_FIND, 1, &fd, &packet), "it needs none");
    fd = image_memory(2 * UNIT, 1);
    cr_expect_not(ask(&ann, CHANNEL_IMAGE_KEEP, 1, &fd, &packet));
    fd = image_memory(UNIT, 1);
    cr_expect_not(ask(NULL, CHANNEL_IMAGE_KEEP, 1, &fd, &packet));
    fd = -1;
    cr_expect_not(ask(&ann, CHANNEL_IMAGE_KEEP, 1, &fd, &packet));
    cr_expect_eq(lowest_descriptor(), before);
}

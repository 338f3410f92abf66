/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that stay with the application that lets others use its memory. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "server/backend/exports.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static struct channel_request shared(uint8_t key, uint32_t what, uint64_t address)
{
    struct channel_request packet = {.what = what, .address = address, .bytes = 100};
    memset(packet.key, key, sizeof packet.key);
    return packet;
}

static int add(struct exports *exports, const struct channel_request *packet)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct export_entry *entry = export_make(fd);
    cr_assert_not_null(entry);
    close(fd);
    exports_add(exports, entry, packet);
    return exports_find(exports, packet->key);
}

Test(exports, an_entry_has_a_descriptor_of_its_own_until_it_is_withdrawn)
{
    struct exports exports;
    exports_init(&exports);
    const struct channel_request a = shared(1, CHANNEL_MEMORY, 1000),
                                 b = shared(2, CHANNEL_MEMORY, 2000),
                                 c = shared(3, CHANNEL_PHYSICAL, 1000);
    int fds[] = {add(&exports, &a), add(&exports, &b), add(&exports, &c)};
    cr_assert(is_open(fds[0]) && is_open(fds[1]) && is_open(fds[2]));
    cr_assert((fcntl(fds[0], F_GETFD) & FD_CLOEXEC) != 0);

    const struct channel_request withdrawn = {.what = CHANNEL_MEMORY, .address = 900, .bytes = 101};
    exports_withdraw(&exports, &withdrawn);
    cr_assert_eq(exports_find(&exports, a.key), -1);
    cr_assert_not(is_open(fds[0]));
    cr_assert_eq(exports_find(&exports, b.key), fds[1]);
    cr_assert_eq(exports_find(&exports, c.key), fds[2], "of another kind");
    exports_fini(&exports);
    cr_assert_not(is_open(fds[1]));
    cr_assert_not(is_open(fds[2]));
}

Test(exports, what_was_not_shared_is_closed)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), next;
    struct export_entry *entry = export_make(fd);
    export_free(entry);
    export_free(NULL);
    next = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cr_assert_eq(next, fd + 1, "a descriptor is left open");
    cr_assert_null(export_make(-1));
    close(next);
    close(fd);
}

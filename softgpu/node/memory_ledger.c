/* SPDX-License-Identifier: Apache-2.0 */
/* Records of allocations in the process's memory file, and descriptors positioned at them. */
#include "softgpu/node/memory_ledger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/node/memory_file.h"
#include "softgpu/node/node.h"
#include "softgpu/node/physical.h"

#define SHARE_MAGIC UINT64_C(0x3265726168736773)

static uint64_t record_bytes(uint32_t count)
{
    return sizeof(struct sg_ledger_record) + (uint64_t)count * sizeof(uint32_t);
}

static bool ledger_write(const void *bytes, size_t size, uint64_t at)
{
    return pwrite(sg_physical_file(), bytes, size, (off_t)at) == (ssize_t)size;
}

enum ga_status sg_ledger_write(const uint8_t uuid[16], uint64_t shared, const uint32_t *places,
                               uint32_t count, uint64_t *at)
{
    struct sg_ledger_record share = {
        .magic = SHARE_MAGIC, .node = sg_node_id(), .shared = shared, .count = count};
    uint64_t room;
    memcpy(share.uuid, uuid, sizeof share.uuid);
    GA_TRY(sg_physical_grow(record_bytes(count), &room));
    if (!ledger_write(&share, sizeof share, room) ||
        !ledger_write(places, count * sizeof *places, room + sizeof share)) {
        sg_ledger_erase(room, count);
        return GA_NO_MEMORY;
    }
    *at = room;
    return GA_OK;
}

void sg_ledger_erase(uint64_t at, uint32_t count)
{
    sg_physical_punch(at, record_bytes(count));
}

/* A lock on the first byte of a record. */
static struct flock ledger_lock(uint64_t at, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1, .l_pid = 0};
}

int sg_ledger_open(uint64_t at)
{
    int fd = sg_memory_file_reopen(sg_physical_file());
    struct flock lock = ledger_lock(at, F_RDLCK);
    if (fd >= 0 && (lseek(fd, (off_t)at, SEEK_SET) < 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool sg_ledger_held(uint64_t at)
{
    struct flock lock = ledger_lock(at, F_WRLCK);
    return fcntl(sg_physical_file(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool sg_ledger_places_good(const uint32_t *places, uint32_t count, uint64_t file_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] >= file_bytes / SG_CHUNK_BYTES) {
            return false;
        }
    }
    return true;
}

enum ga_status sg_ledger_read(int fd, struct sg_ledger_record *share, uint32_t **places)
{
    struct stat facts;
    off_t at = fd >= 0 && sg_memory_file_is(fd, SG_PHYSICAL_FILE) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at < 0 || !sg_memory_file_keeps_length(fd) || fstat(fd, &facts) != 0 ||
        pread(fd, share, sizeof *share, at) != (ssize_t)sizeof *share ||
        share->magic != SHARE_MAGIC || share->node != sg_node_id() || share->count == 0 ||
        record_bytes(share->count) > (uint64_t)(facts.st_size - at)) {
        return GA_INVALID;
    }
    size_t size = share->count * sizeof **places;
    uint32_t *read = malloc(size);
    if (read == NULL) {
        return GA_NO_MEMORY;
    }
    if (pread(fd, read, size, at + (off_t)sizeof *share) != (ssize_t)size ||
        !sg_ledger_places_good(read, share->count, (uint64_t)facts.st_size)) {
        free(read);
        return GA_INVALID;
    }
    *places = read;
    return GA_OK;
}

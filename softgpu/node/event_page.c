/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/node/event_page.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/node/memory_file.h"

#define PAGE_BYTES  4096u
#define SHARER_BITS 24 /* of a recording, below its number: the process that has recorded */
#define SHARERS_MAX ((UINT64_C(1) << SHARER_BITS) - 1)
#define DONE_PLACES 256u

struct state {
    _Atomic uint64_t key;     /* random; 0: withdrawn */
    _Atomic uint64_t sharers; /* the number of the last one; never used again */
    _Atomic uint64_t last;    /* recording */
    /* The last recording that is done of those whose numbers are the same modulo DONE_PLACES.
     * One that is waited for while so many others are recorded looks done when its successor is. */
    _Atomic uint64_t done[DONE_PLACES];
};

_Static_assert(sizeof(struct state) <= PAGE_BYTES, "it is a page");

struct sg_event_page {
    unsigned references;
    int fd;
    uint64_t self; /* the sharer that this process is */
    struct state *state;
};

static unsigned pages; /* of this process */

/* ---- life and death of sharers: each locks the byte of its number */

static struct flock sharer_lock(uint64_t sharer, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)sharer, .l_len = 1, .l_pid = 0};
}

/* False: there are too many, or somebody has made the number one that is in use. */
static bool sharer_begin(struct sg_event_page *page)
{
    page->self = atomic_fetch_add(&page->state->sharers, 1) + 1;
    struct flock lock = sharer_lock(page->self, F_WRLCK);
    return page->self <= SHARERS_MAX && fcntl(page->fd, F_OFD_SETLK, &lock) == 0;
}

static bool sharer_lives(const struct sg_event_page *page, uint64_t sharer)
{
    struct flock lock = sharer_lock(sharer, F_WRLCK);
    return fcntl(page->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* ---- pages */

static bool file_is_good(int fd)
{
    struct stat facts;
    return fd >= 0 && sg_memory_file_keeps_length(fd) && fstat(fd, &facts) == 0 &&
           facts.st_size >= (off_t)PAGE_BYTES;
}

/* Takes the descriptor. */
static enum ga_status page_map(int fd, struct sg_event_page **out)
{
    struct sg_event_page *page = pages < SG_EVENT_PAGES_MAX ? calloc(1, sizeof *page) : NULL;
    void *at = page != NULL ? mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                            : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(page);
        close(fd);
        return GA_NO_MEMORY;
    }
    *page = (struct sg_event_page){.references = 1, .fd = fd, .state = at};
    pages++;
    if (!sharer_begin(page)) {
        sg_event_page_drop(page);
        return GA_INVALID;
    }
    *out = page;
    return GA_OK;
}

enum ga_status sg_event_page_make(struct sg_event_page **page)
{
    uint64_t key;
    int fd = memfd_create(SG_EVENT_PAGE_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key) {
        if (fd >= 0) {
            close(fd);
        }
        return GA_NO_MEMORY;
    }
    struct sg_event_page *made;
    GA_TRY(page_map(fd, &made));
    atomic_store(&made->state->key, key + (key == 0));
    *page = made;
    return GA_OK;
}

enum ga_status sg_event_page_open(int fd, struct sg_event_page **page)
{
    int own = sg_memory_file_is(fd, SG_EVENT_PAGE_FILE) ? sg_memory_file_reopen(fd) : -1;
    if (!file_is_good(own)) {
        if (own >= 0) {
            close(own);
        }
        return GA_INVALID;
    }
    struct sg_event_page *made;
    GA_TRY(page_map(own, &made));
    if (sg_event_page_key(made) == 0) {
        sg_event_page_drop(made);
        return GA_INVALID;
    }
    *page = made;
    return GA_OK;
}

void sg_event_page_hold(struct sg_event_page *page)
{
    page->references++;
}

void sg_event_page_drop(struct sg_event_page *page)
{
    if (page != NULL && --page->references == 0) {
        munmap(page->state, PAGE_BYTES);
        close(page->fd);
        free(page);
        pages--;
    }
}

void sg_event_page_withdraw(struct sg_event_page *page)
{
    atomic_store(&page->state->key, 0);
}

uint64_t sg_event_page_key(const struct sg_event_page *page)
{
    return atomic_load(&page->state->key);
}

int sg_event_page_file(const struct sg_event_page *page)
{
    return page->fd;
}

int sg_event_page_export(const struct sg_event_page *page)
{
    return sg_memory_file_reopen(page->fd);
}

/* ---- recordings */

uint64_t sg_event_page_record(struct sg_event_page *page)
{
    uint64_t last = atomic_load(&page->state->last), next;
    do {
        next = ((last >> SHARER_BITS) + 1) << SHARER_BITS | page->self;
    } while (!atomic_compare_exchange_weak(&page->state->last, &last, next));
    return next;
}

uint64_t sg_event_page_last(const struct sg_event_page *page)
{
    return atomic_load(&page->state->last);
}

static _Atomic uint64_t *done_place(const struct sg_event_page *page, uint64_t number)
{
    return &page->state->done[number % DONE_PLACES];
}

void sg_event_page_set_done(struct sg_event_page *page, uint64_t recording)
{
    uint64_t number = recording >> SHARER_BITS;
    _Atomic uint64_t *place = done_place(page, number);
    uint64_t done = atomic_load(place);
    while (done < number && !atomic_compare_exchange_weak(place, &done, number)) {
    }
}

bool sg_event_page_done(const struct sg_event_page *page, uint64_t recording)
{
    uint64_t number = recording >> SHARER_BITS;
    return atomic_load(done_place(page, number)) >= number ||
           !sharer_lives(page, recording & SHARERS_MAX);
}

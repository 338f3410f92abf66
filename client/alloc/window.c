/* SPDX-License-Identifier: Apache-2.0 */
/* Address windows. ThreadSanitizer allows programs only the lowest 512 GiB (and two ranges that the
 * loader uses), so its windows are smaller and lower. */
#include "client/alloc/window.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "client/alloc/free_ranges.h"

#if defined(__SANITIZE_THREAD__)
#define WINDOW_MAX   (UINT64_C(64) << 30)
#define WINDOW_FIRST (UINT64_C(64) << 30)
#else
/* Above the shadow of AddressSanitizer, below everything that Linux maps by itself. */
#define WINDOW_MAX   (UINT64_C(4) << 40)
#define WINDOW_FIRST UINT64_C(0x200000000000)
#endif

#define WINDOW_END CLIENT_OTHERS_FIRST
#define WINDOW_MIN (UINT64_C(1) << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_base = WINDOW_FIRST;

bool client_window_reserve(const struct handshake_window *window)
{
    void *wanted = (void *)(uintptr_t)window->base;
    if (window->bytes == 0 || window->base % 4096 != 0) {
        return false;
    }
    void *got = mmap(wanted, window->bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) {
        return false;
    }
    if (got != wanted) { /* a kernel before 4.17 takes the address as a hint */
        munmap(got, window->bytes);
        return false;
    }
    return true;
}

void client_window_release(const struct handshake_window *window)
{
    munmap((void *)(uintptr_t)window->base, window->bytes);
}

/* A window has four times as many addresses as the device has bytes: addresses are reused only when
 * the work before a free is done, and blocks are never moved to join free ranges. */
static uint64_t window_bytes(uint64_t memory_bytes)
{
    uint64_t bytes = WINDOW_MIN;
    while (bytes / 4 < memory_bytes && bytes < WINDOW_MAX) {
        bytes *= 2;
    }
    return bytes;
}

bool client_window_next(uint64_t memory_bytes, struct handshake_window *window)
{
    bool found = false;
    uint64_t bytes = window_bytes(memory_bytes);
    pthread_mutex_lock(&lock);
    next_base = (next_base + bytes - 1) & ~(bytes - 1);
    while (!found && next_base + bytes <= WINDOW_END) {
        window->base = next_base;
        window->bytes = bytes;
        next_base += bytes;
        found = client_window_reserve(window);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- outside of the windows */

#define TAKE_TRIES 16u /* ranges that may turn out to be in use by the program */

static struct client_ranges *others(void)
{
    static struct client_ranges ranges;
    static bool ready;
    if (!ready) {
        client_free_ranges_add(&ranges, CLIENT_OTHERS_FIRST,
                               CLIENT_OTHERS_END - CLIENT_OTHERS_FIRST);
        ready = true;
    }
    return &ranges;
}

bool client_window_take(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *start)
{
    struct handshake_window found = {.base = wish, .bytes = bytes};
    bool taken = false;
    pthread_mutex_lock(&lock);
    bool room = wish % alignment == 0 && client_free_ranges_take_at(others(), wish, bytes);
    for (unsigned tries = 0; !taken && tries < TAKE_TRIES; tries++) {
        room = room || client_free_ranges_take(others(), bytes, alignment, &found.base);
        taken = room && client_window_reserve(&found);
        room = false; /* a range that is in use is never tried again */
    }
    pthread_mutex_unlock(&lock);
    *start = found.base;
    return taken;
}

void client_window_give(uint64_t start, uint64_t bytes)
{
    const struct handshake_window what = {.base = start, .bytes = bytes};
    pthread_mutex_lock(&lock);
    client_window_release(&what);
    client_free_ranges_add(others(), start, bytes);
    pthread_mutex_unlock(&lock);
}

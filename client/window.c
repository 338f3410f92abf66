/* Address windows. ThreadSanitizer allows programs only the lowest 512 GiB (and two ranges that the
 * loader uses), so its windows are smaller and lower. */
#include "client/window.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#if defined(__SANITIZE_THREAD__)
#define WINDOW_BYTES (UINT64_C(64) << 30)
#define WINDOW_FIRST (UINT64_C(64) << 30)
#define WINDOW_COUNT 6u
#else
/* Above the shadow of AddressSanitizer, below everything that Linux maps by itself. */
#define WINDOW_BYTES (UINT64_C(512) << 30)
#define WINDOW_FIRST UINT64_C(0x200000000000)
#define WINDOW_COUNT 64u
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next_candidate;

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

bool client_window_next(struct handshake_window *window)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    while (!found && next_candidate < WINDOW_COUNT) {
        window->base = WINDOW_FIRST + next_candidate++ * WINDOW_BYTES;
        window->bytes = WINDOW_BYTES;
        found = client_window_reserve(window);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

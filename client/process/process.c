/* SPDX-License-Identifier: Apache-2.0 */
/* The process around the library: what it says, and the child of a fork. */
#include "client/process/process.h"

#include <pthread.h>
#include <unistd.h>

#include "client/process/environment.h"

#define DESCRIPTORS_MAX 4096

atomic_bool client_dead;
atomic_bool client_exiting;

static atomic_int owned[DESCRIPTORS_MAX];
static atomic_uint owned_count;

void client_process_own(int fd)
{
    unsigned at = atomic_fetch_add(&owned_count, 1);
    if (at < DESCRIPTORS_MAX) {
        atomic_store(&owned[at], fd + 1);
    }
}

void client_process_disown(int fd)
{
    unsigned count = atomic_load(&owned_count);
    for (unsigned i = 0; i < count && i < DESCRIPTORS_MAX; i++) {
        int expected = fd + 1;
        (void)atomic_compare_exchange_strong(&owned[i], &expected, 0);
    }
}

/* The connections belong to the parent. Only async-signal-safe things happen here. */
static void in_child(void)
{
    atomic_store(&client_dead, true);
    unsigned count = atomic_load(&owned_count);
    for (unsigned i = 0; i < count && i < DESCRIPTORS_MAX; i++) {
        int fd = atomic_load(&owned[i]) - 1;
        if (fd >= 0) {
            close(fd);
        }
    }
}

void client_process_begin(void)
{
    client_environment_apply();
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The shared segment of a node. It is marked for destruction as soon as it is attached, so it
 * disappears with its last process; on Linux such a segment can still be found and attached, by
 * enumeration of all segments. One process at a time looks and makes. */
#include "softgpu/node/node_segment.h"

#include "softgpu/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SEGMENT_LOOK_NS (5 * GA_NS_PER_S) /* others hold the turnstile for microseconds */
#define KEY_FIRST       0x53470000        /* only while a segment is being made */

static void *segment_attach(int id)
{
    void *at = shmat(id, NULL, 0);
    if (at == (void *)-1) { /* NOLINT(performance-no-int-to-ptr) */
        return NULL;
    }
    (void)madvise(at, sizeof(struct sg_node), MADV_DONTFORK);
    return at;
}

void sg_node_detach(struct sg_node *node)
{
    if (shmdt(node) != 0) {
        munmap(node, sizeof *node); /* a private segment */
    }
}

void sg_node_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &shared);
    pthread_mutexattr_destroy(&shared);
}

static enum ga_status node_init(struct sg_node *node, const char *name)
{
    if (getrandom(&node->id, sizeof node->id, 0) != (ssize_t)sizeof node->id) {
        return GA_UNSUPPORTED;
    }
    strncpy(node->name, name, sizeof node->name - 1);
    sg_node_mutex_init(&node->lock);
    node->magic = SG_NODE_MAGIC;
    return GA_OK;
}

/* The segment of this user and of that name; NULL: there is none. */
static struct sg_node *segment_find(const char *name)
{
    struct shm_info unused;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&unused);
    for (int i = 0; i <= last; i++) {
        struct shmid_ds facts;
        int id = shmctl(i, SHM_STAT, &facts);
        if (id < 0 || facts.shm_perm.uid != geteuid() || (facts.shm_perm.mode & 0777) != 0600 ||
            facts.shm_segsz != sizeof(struct sg_node)) {
            continue;
        }
        struct sg_node *node = segment_attach(id);
        if (node != NULL && node->magic == SG_NODE_MAGIC &&
            strncmp(node->name, name, sizeof node->name) == 0) {
            return node;
        }
        if (node != NULL) {
            sg_node_detach(node);
        }
    }
    return NULL;
}

/* A process that was killed in this function has left a segment under the key: it is removed. */
static struct sg_node *segment_make(void)
{
    key_t key = KEY_FIRST ^ (key_t)geteuid();
    int flags = IPC_CREAT | IPC_EXCL | SHM_NORESERVE | 0600;
    int left = shmget(key, 0, 0);
    if (left >= 0) {
        (void)shmctl(left, IPC_RMID,
                     NULL); /* another user's: removal is refused, and the key is not ours */
    }
    int id = shmget(key, sizeof(struct sg_node), flags);
    if (id < 0 && errno == EEXIST) {
        id = shmget(IPC_PRIVATE, sizeof(struct sg_node), flags);
    }
    if (id < 0) {
        return NULL;
    }
    struct sg_node *node = segment_attach(id);
    (void)shmctl(id, IPC_RMID, NULL);
    return node;
}

/* Admits one process at a time; -1: not within SEGMENT_LOOK_NS. A child that another thread forks
 * meanwhile holds the descriptor too, so it is unlocked and not only closed. */
static int turnstile_enter(void)
{
    int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    uint64_t until = ga_clock_ns() + SEGMENT_LOOK_NS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || ga_clock_ns() > until) {
            close(fd);
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)GA_NS_PER_MS / 2}, NULL);
    }
    return fd;
}

enum ga_status sg_node_attach(const char *name, struct sg_node **node, const char **why)
{
    int fd = turnstile_enter();
    if (fd < 0) {
        *why = "/dev/shm cannot be locked";
        return GA_UNSUPPORTED;
    }
    enum ga_status status = GA_OK;
    struct sg_node *found = segment_find(name);
    if (found == NULL) {
        found = segment_make();
        status = found == NULL ? GA_UNSUPPORTED : node_init(found, name);
    }
    (void)flock(fd, LOCK_UN);
    close(fd);
    if (status != GA_OK) {
        *why = "no shared memory of System V can be made";
        return status;
    }
    *node = found;
    return GA_OK;
}

enum ga_status sg_node_make_own(struct sg_node **node, const char **why)
{
    void *at = mmap(NULL, sizeof **node, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || node_init(at, SG_NODE_SELF) != GA_OK) {
        *why = "no memory";
        return GA_NO_MEMORY;
    }
    *node = at;
    return GA_OK;
}

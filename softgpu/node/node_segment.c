/* SPDX-License-Identifier: Apache-2.0 */
/* The shared segment of a node. It is marked for destruction as soon as it is attached, so it
 * disappears with its last process; on Linux such a segment can still be found and attached, by
 * enumeration of all segments.
 *
 * Whoever finds none makes a candidate, and looks again: it is the node if there is no other
 * candidate; if two see each other, the younger one goes. No lock is needed for that, and there is
 * no name, key or file that another user could take or hold: only segments that this user has
 * created are looked at. */
#include "softgpu/node/node_segment.h"

#include "softgpu/node/node.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SEGMENT_LOOK_NS (5 * GA_NS_PER_S)            /* a candidate is one for microseconds */
#define CANDIDATE       UINT64_C(0x6574616469646e61) /* in the magic's place: it has its name */
#define NOBODY          INT_MAX

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

static enum ga_status node_init(struct sg_node *node, const char *name)
{
    if (getrandom(&node->id, sizeof node->id, 0) != (ssize_t)sizeof node->id) {
        return GA_UNSUPPORTED;
    }
    strncpy(node->name, name, sizeof node->name - 1);
    return GA_OK;
}

/* Nobody but this user can have made it, or attach it. (Its owner can give a segment to another
 * user, but stays its creator.) */
static bool segment_is_ours(const struct shmid_ds *facts)
{
    return facts->shm_perm.uid == geteuid() && facts->shm_perm.cuid == geteuid() &&
           (facts->shm_perm.mode & 0777) == 0600 && facts->shm_segsz == sizeof(struct sg_node);
}

/* A process that was killed before it could mark it has left it. */
static bool segment_is_left(const struct shmid_ds *facts)
{
    return facts->shm_nattch == 0 && (facts->shm_perm.mode & SHM_DEST) == 0 &&
           facts->shm_cpid > 0 && kill(facts->shm_cpid, 0) != 0 && errno == ESRCH;
}

/* The node of that name; NULL: there is none, and `*oldest` is the candidate with the least number
 * besides `own`, or NOBODY. One that has no name yet counts for all names; one that nobody has
 * attached is looked at by its maker, who has not looked yet. */
static struct sg_node *segments_look(const char *name, int own, int *oldest)
{
    struct shm_info unused;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&unused);
    *oldest = NOBODY;
    for (int i = 0; i <= last; i++) {
        struct shmid_ds facts;
        int id = shmctl(i, SHM_STAT, &facts);
        if (id < 0 || id == own || !segment_is_ours(&facts)) {
            continue;
        }
        if (segment_is_left(&facts)) {
            (void)shmctl(id, IPC_RMID, NULL);
            continue;
        }
        struct sg_node *node = facts.shm_nattch != 0 ? segment_attach(id) : NULL;
        if (node == NULL) {
            continue;
        }
        uint64_t magic = atomic_load(&node->magic);
        bool named = strncmp(node->name, name, sizeof node->name) == 0;
        if (magic == SG_NODE_MAGIC && named) {
            return node;
        }
        if ((magic == 0 || (magic == CANDIDATE && named)) && id < *oldest) {
            *oldest = id;
        }
        sg_node_detach(node);
    }
    return NULL;
}

static struct sg_node *candidate_make(const char *name, int *id, const char **why)
{
    *why = "no shared memory of System V can be made";
    *id = shmget(IPC_PRIVATE, sizeof(struct sg_node), IPC_CREAT | SHM_NORESERVE | 0600);
    if (*id < 0) {
        return NULL;
    }
    struct sg_node *node = segment_attach(*id);
    (void)shmctl(*id, IPC_RMID, NULL);
    if (node != NULL && node_init(node, name) != GA_OK) {
        sg_node_detach(node);
        node = NULL;
    }
    if (node != NULL) {
        atomic_store(&node->magic, CANDIDATE);
    }
    return node;
}

enum ga_status sg_node_attach(const char *name, struct sg_node **node, const char **why)
{
    struct sg_node *own = NULL;
    int id = -1, oldest;
    uint64_t until = ga_clock_ns() + SEGMENT_LOOK_NS;
    for (;;) {
        *node = segments_look(name, id, &oldest);
        if (*node == NULL && own != NULL && oldest == NOBODY) {
            atomic_store(&own->magic, SG_NODE_MAGIC);
            *node = own;
            return GA_OK;
        }
        bool late = *node == NULL && ga_clock_ns() > until;
        if (own != NULL && (*node != NULL || oldest < id || late)) {
            sg_node_detach(own);
            own = NULL;
            id = -1;
        }
        if (*node != NULL) {
            return GA_OK;
        }
        if (late) {
            *why = "another process stands still while it makes their state";
            return GA_UNSUPPORTED;
        }
        if (own == NULL && oldest == NOBODY) {
            own = candidate_make(name, &id, why);
            if (own == NULL) {
                return GA_UNSUPPORTED;
            }
        } else {
            nanosleep(&(struct timespec){.tv_nsec = (long)GA_NS_PER_MS / 2}, NULL);
        }
    }
}

enum ga_status sg_node_make_own(struct sg_node **node, const char **why)
{
    void *at = mmap(NULL, sizeof **node, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || node_init(at, SG_NODE_SELF) != GA_OK) {
        *why = "no memory";
        return GA_NO_MEMORY;
    }
    *node = at; /* without the magic: nobody looks for it */
    return GA_OK;
}

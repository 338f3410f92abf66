/* SPDX-License-Identifier: Apache-2.0 */
/* scribble NODE: writes numbers all over the state that the processes of a node share, until its
 * standard input ends; then it says how many. Most often it hits what they use all the time. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/node/node_segment.h"

#define PAUSE_NS 100000
#define NEAR     8u /* of each kind, those that are in use */

static struct sg_node *find(const char *name)
{
    struct shm_info unused;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&unused);
    for (int i = 0; i <= last; i++) {
        struct shmid_ds facts;
        int id = shmctl(i, SHM_STAT, &facts);
        if (id < 0 || facts.shm_segsz != sizeof(struct sg_node)) {
            continue;
        }
        struct sg_node *node = shmat(id, NULL, 0);
        if (node == (void *)-1) { /* NOLINT(performance-no-int-to-ptr) */
            continue;
        }
        if (strncmp(node->name, name, sizeof node->name) == 0) {
            return node;
        }
        (void)shmdt(node);
    }
    return NULL;
}

static uint32_t number(void)
{
    static const uint32_t often[] = {0, 1, 2, 100, INT32_MAX, UINT32_MAX};
    long r = random();
    return r % 8 < 6 ? often[r % 8] : (uint32_t)random() * 2u + 1u;
}

/* A place in a struct whose beginning is the most used. */
static void *within(void *base, size_t size)
{
    size_t most = random() % 2 == 0 && size > 64 ? 64 : size;
    return (char *)base + (size_t)random() % (most / 4) * 4;
}

static void *place(struct sg_node *node)
{
    struct sg_node_device *device = &node->device[random() % 2];
    struct sg_node_engine *engine = &device->engines[random() % GPU_ENGINES];
    switch (random() % 9) {
    case 0:
        return within(&node->slots,
                      offsetof(struct sg_node, slot) - offsetof(struct sg_node, slots));
    case 1:
        return within(&node->slot[random() % NEAR], sizeof node->slot[0]);
    case 2:
        return &device->process[random() % NEAR].held;
    case 3:
        return &device->process[random() % NEAR].open;
    case 4:
        return within(engine, offsetof(struct sg_node_engine, line) + 64);
    case 5:
        return within(&device->used, 16);
    case 6:
        return within(&device->key, sizeof device->key);
    case 7:
        return within(&node->lock, sizeof node->lock);
    default:
        return within(&node->slots, sizeof *node - offsetof(struct sg_node, slots));
    }
}

int main(int argc, char **argv)
{
    struct sg_node *node = argc == 2 ? find(argv[1]) : NULL;
    unsigned long count = 0;
    char byte;
    if (node == NULL || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0) {
        fprintf(stderr, "usage: scribble NODE (there is no such node)\n");
        return 1;
    }
    printf("started\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) != 0) {
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        for (int i = 0; i < 10; i++, count++) {
            atomic_store((_Atomic uint32_t *)place(node), number());
        }
        (void)nanosleep(&pause, NULL);
    }
    printf("%lu writes\n", count);
    return 0;
}

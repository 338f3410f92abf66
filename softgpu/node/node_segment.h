/* SPDX-License-Identifier: Apache-2.0 */
/* The segment of shared memory in which the state of a node lies. */
#ifndef SOFTGPU_NODE_NODE_SEGMENT_H
#define SOFTGPU_NODE_NODE_SEGMENT_H

#include "softgpu/node/node.h"

#define SG_NODE_MAGIC UINT64_C(0x33656d6e75706773) /* with the version of all this */

struct sg_node {
    uint64_t magic; /* written last */
    uint64_t id;    /* random */
    char name[SG_NODE_NAME_BYTES];
    pthread_mutex_t lock; /* robust */
    uint32_t slots;       /* no process has ever been in one from here on */
    uint32_t devices;     /* likewise */
    uint64_t last_event;  /* the id of the event made last */
    struct sg_node_slot slot[SG_NODE_PROCESSES];
    struct sg_node_event event[SG_NODE_EVENTS];
    struct sg_node_device device[SG_NODE_DEVICES];
};

/* One that processes share, and that says when its holder has died. */
void sg_node_mutex_init(pthread_mutex_t *mutex);

/* The segment of that name, found or made; `why` says what fails. */
GA_CHECKED enum ga_status sg_node_attach(const char *name, struct sg_node **node, const char **why);

/* One that nobody finds. */
GA_CHECKED enum ga_status sg_node_make_own(struct sg_node **node, const char **why);
void sg_node_detach(struct sg_node *node);

#endif

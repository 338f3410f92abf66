/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by a number that another party chose, such as the driver's texture objects: a hash
 * table of fixed size whose nodes are members of the objects. A zeroed map is empty. Not locked. */
#ifndef BASE_NUMBER_MAP_H
#define BASE_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#define GA_NUMBER_MAP_BUCKETS 256u

struct ga_number_node {
    uint64_t number;
    struct ga_number_node *next;
};

struct ga_number_map {
    struct ga_number_node *buckets[GA_NUMBER_MAP_BUCKETS];
};

static inline struct ga_number_node **ga_number_map_bucket(struct ga_number_map *map,
                                                           uint64_t number)
{
    /* Multiplicative hashing: the upper bits depend on all bits. */
    return &map->buckets[(number * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

/* Two objects may have the same number; the last one added is found. */
static inline void ga_number_map_add(struct ga_number_map *map, struct ga_number_node *node,
                                     uint64_t number)
{
    struct ga_number_node **bucket = ga_number_map_bucket(map, number);
    node->number = number;
    node->next = *bucket;
    *bucket = node;
}

static inline struct ga_number_node *ga_number_map_find(struct ga_number_map *map, uint64_t number)
{
    struct ga_number_node *node = *ga_number_map_bucket(map, number);
    while (node != NULL && node->number != number) {
        node = node->next;
    }
    return node;
}

/* A node that is not in the map is ignored. */
static inline void ga_number_map_remove(struct ga_number_map *map, struct ga_number_node *node)
{
    struct ga_number_node **at = ga_number_map_bucket(map, node->number);
    while (*at != NULL && *at != node) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = node->next;
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Disjoint address ranges: a treap. */
#include "client/alloc/ranges.h"

#include <stddef.h>

static uint32_t range_next_random(struct client_ranges *map)
{
    uint32_t x = map->random != 0 ? map->random : 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    map->random = x;
    return x;
}

struct client_range *client_ranges_from(const struct client_ranges *map, uint64_t address)
{
    struct client_range *found = NULL;
    for (struct client_range *at = map->root; at != NULL;) {
        if (at->start + at->bytes > address) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return found;
}

struct client_range *client_ranges_find(const struct client_ranges *map, uint64_t address)
{
    struct client_range *found = client_ranges_from(map, address);
    return found != NULL && found->start <= address ? found : NULL;
}

/* Everything that starts below `start` goes left. */
static void range_split(struct client_range *tree, uint64_t start, struct client_range **left,
                        struct client_range **right)
{
    while (tree != NULL) {
        if (tree->start < start) {
            *left = tree;
            left = &tree->right;
            tree = tree->right;
        } else {
            *right = tree;
            right = &tree->left;
            tree = tree->left;
        }
    }
    *left = NULL;
    *right = NULL;
}

static struct client_range *range_merge(struct client_range *left, struct client_range *right)
{
    struct client_range *root = NULL, **at = &root;
    while (left != NULL && right != NULL) {
        if (left->priority > right->priority) {
            *at = left;
            at = &left->right;
            left = left->right;
        } else {
            *at = right;
            at = &right->left;
            right = right->left;
        }
    }
    *at = left != NULL ? left : right;
    return root;
}

bool client_ranges_insert(struct client_ranges *map, struct client_range *range)
{
    const struct client_range *behind = client_ranges_from(map, range->start);
    if (range->bytes == 0 || range->start + range->bytes < range->start ||
        (behind != NULL && behind->start < range->start + range->bytes)) {
        return false;
    }
    range->priority = range_next_random(map);
    struct client_range **at = &map->root;
    while (*at != NULL && (*at)->priority >= range->priority) {
        at = (*at)->start < range->start ? &(*at)->right : &(*at)->left;
    }
    range_split(*at, range->start, &range->left, &range->right);
    *at = range;
    return true;
}

void client_ranges_remove(struct client_ranges *map, struct client_range *range)
{
    struct client_range **at = &map->root;
    while (*at != NULL && *at != range) {
        at = (*at)->start < range->start ? &(*at)->right : &(*at)->left;
    }
    if (*at != NULL) {
        *at = range_merge(range->left, range->right);
    }
}

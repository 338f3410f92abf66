/* SPDX-License-Identifier: Apache-2.0 */
/* Putting ranges into the treap and taking them out; lookups walk by themselves. */
#include "client/address/address_treap.h"

#include <stdbool.h>
#include <stddef.h>

static uint32_t treap_next_random(void)
{
    static uint32_t x = 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

/* The subtrees are right. */
static void treap_last_set(struct client_address_node *node)
{
    uint64_t last = ADDRESS_READ(&node->end);
    const struct client_address_node *below[2] = {ADDRESS_READ(&node->left),
                                                  ADDRESS_READ(&node->right)};
    for (int i = 0; i < 2; i++) {
        if (below[i] != NULL && ADDRESS_READ(&below[i]->last) > last) {
            last = ADDRESS_READ(&below[i]->last);
        }
    }
    ADDRESS_WRITE(&node->last, last);
}

static bool comes_before(const struct client_address_node *one,
                         const struct client_address_node *other)
{
    uint64_t a = ADDRESS_READ(&one->start), b = ADDRESS_READ(&other->start);
    return a != b ? a < b : ADDRESS_READ(&one->serial) < ADDRESS_READ(&other->serial);
}

/* Everything that comes before `at` goes left. */
static void treap_split(struct client_address_node *tree, const struct client_address_node *at,
                        client_address_link *left, client_address_link *right)
{
    if (tree == NULL) {
        ADDRESS_WRITE(left, NULL);
        ADDRESS_WRITE(right, NULL);
        return;
    }
    if (comes_before(tree, at)) {
        treap_split(ADDRESS_READ(&tree->right), at, &tree->right, right);
        ADDRESS_WRITE(left, tree);
    } else {
        treap_split(ADDRESS_READ(&tree->left), at, left, &tree->left);
        ADDRESS_WRITE(right, tree);
    }
    treap_last_set(tree);
}

static struct client_address_node *treap_merge(struct client_address_node *left,
                                               struct client_address_node *right)
{
    if (left == NULL || right == NULL) {
        return left != NULL ? left : right;
    }
    struct client_address_node *top = left->priority > right->priority ? left : right;
    if (top == left) {
        ADDRESS_WRITE(&left->right, treap_merge(ADDRESS_READ(&left->right), right));
    } else {
        ADDRESS_WRITE(&right->left, treap_merge(left, ADDRESS_READ(&right->left)));
    }
    treap_last_set(top);
    return top;
}

static struct client_address_node *insert(struct client_address_node *tree,
                                          struct client_address_node *node)
{
    if (tree == NULL || node->priority > tree->priority) {
        treap_split(tree, node, &node->left, &node->right);
        treap_last_set(node);
        return node;
    }
    client_address_link *side = comes_before(node, tree) ? &tree->left : &tree->right;
    ADDRESS_WRITE(side, insert(ADDRESS_READ(side), node));
    treap_last_set(tree);
    return tree;
}

static struct client_address_node *without(struct client_address_node *tree,
                                           const struct client_address_node *node)
{
    if (tree == node) {
        return treap_merge(ADDRESS_READ(&tree->left), ADDRESS_READ(&tree->right));
    }
    client_address_link *side = comes_before(node, tree) ? &tree->left : &tree->right;
    ADDRESS_WRITE(side, without(ADDRESS_READ(side), node));
    treap_last_set(tree);
    return tree;
}

void client_address_treap_insert(client_address_link *root, struct client_address_node *node)
{
    node->priority = treap_next_random();
    ADDRESS_WRITE(root, insert(ADDRESS_READ(root), node));
}

void client_address_treap_remove(client_address_link *root, struct client_address_node *node)
{
    ADDRESS_WRITE(root, without(ADDRESS_READ(root), node));
}

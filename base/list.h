/* SPDX-License-Identifier: Apache-2.0 */
/* A doubly linked list threaded through its elements. The list head is an element too: an empty
 * list points to itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ga_list {
    struct ga_list *next, *prev;
};

#define ga_container(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void ga_list_init(struct ga_list *list)
{
    list->next = list;
    list->prev = list;
}

static inline bool ga_list_empty(const struct ga_list *list)
{
    return list->next == list;
}

static inline void ga_list_append(struct ga_list *list, struct ga_list *element)
{
    element->prev = list->prev;
    element->next = list;
    list->prev->next = element;
    list->prev = element;
}

/* An element may be removed twice: it points to itself afterwards. */
static inline void ga_list_remove(struct ga_list *element)
{
    element->prev->next = element->next;
    element->next->prev = element->prev;
    ga_list_init(element);
}

/* Walks the list. The body may remove `at`. */
#define ga_list_each(at, following, list)                                                          \
    for (struct ga_list *at = (list)->next, *following = at->next; at != (list);                   \
         at = following, following = at->next)

#endif

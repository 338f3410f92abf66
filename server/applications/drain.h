/* SPDX-License-Identifier: Apache-2.0 */
/* Draining: the node, or a GPU, takes no new programs, and those that it has go on to their end or
 * to a deadline. They are told on their stderr. */
#ifndef SERVER_APPLICATIONS_DRAIN_H
#define SERVER_APPLICATIONS_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "server/processes/drain_state.h"
#include "server/timers.h"

#define DRAIN_NODE UINT32_MAX /* in the place of a GPU */

struct applications;
struct refusal;
struct control_application;

/* The part of the room above in a drain. */
struct drain_hooks {
    /* One line for people: what gpuaasd does now. */
    void (*status)(struct applications *room, const char *line);
    /* The end of gpuaasd waits for programs for so many more microseconds, at least. */
    void (*goes_on)(struct applications *room, uint64_t usec);
    /* The node is empty, and gpuaasd is to end. */
    void (*emptied)(struct applications *room);
};

struct drains {
    const struct drain_hooks *hooks; /* NULL: there are none */
    struct drain node;
    struct server_timer timer; /* while any goes on */
};

void drain_init(struct applications *room, const struct drain_hooks *hooks);
void drain_fini(struct applications *room);

/* `gpu`: an index into the list that clients see, or DRAIN_NODE. `reason`: for people, of one line
 * and not empty. `deadline_s` 0: none; then those that remain are ended. Begun again, it takes the
 * new reason and deadline. GA_INVALID with `why`: there is no such GPU, or no reason. */
GA_CHECKED enum ga_status drain_begin(struct applications *room, uint32_t gpu, const char *reason,
                                      uint64_t deadline_s, char *why, size_t why_size);
/* New programs may come again. Not possible for a node that ends: GA_CONFLICT with `why`. */
GA_CHECKED enum ga_status drain_end(struct applications *room, uint32_t gpu, char *why,
                                    size_t why_size);
/* The node drains, and gpuaasd ends afterwards. `deadline_s` 0: programs are told to end at once,
 * and have two seconds for that. */
void drain_and_stop(struct applications *room, const char *reason, uint64_t deadline_s);

const struct drain *drain_of(const struct applications *room, uint32_t gpu);
/* Whether a program that has no device of this GPU (or of this node) is refused, with `refusal`. */
bool drain_refuses(const struct applications *room, uint32_t gpu, struct refusal *refusal);
/* An application has ended, or left a GPU. */
void drain_look(struct applications *room);

#endif

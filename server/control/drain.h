/* SPDX-License-Identifier: Apache-2.0 */
/* Draining: the node, or a GPU, takes no new programs, and those that it has go on to their end or
 * to a deadline. They are told on their stderr. */
#ifndef SERVER_CONTROL_DRAIN_H
#define SERVER_CONTROL_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "server/processes/drain_state.h"

#define DRAIN_NODE UINT32_MAX /* in the place of a GPU */

struct control;
struct refusal;
struct control_application;

void drain_init(struct control *control);
void drain_fini(struct control *control);

/* `gpu`: an index into the list that clients see, or DRAIN_NODE. `reason`: for people, of one line
 * and not empty. `deadline_s` 0: none; then those that remain are ended. Begun again, it takes the
 * new reason and deadline. GA_INVALID with `why`: there is no such GPU, or no reason. */
GA_CHECKED enum ga_status drain_begin(struct control *control, uint32_t gpu, const char *reason,
                                      uint64_t deadline_s, char *why, size_t why_size);
/* New programs may come again. Not possible for a node that ends: GA_CONFLICT with `why`. */
GA_CHECKED enum ga_status drain_end(struct control *control, uint32_t gpu, char *why,
                                    size_t why_size);
/* The node drains, and gpuaasd ends afterwards. `deadline_s` 0: programs are told to end at once,
 * and have two seconds for that. */
void drain_and_stop(struct control *control, const char *reason, uint64_t deadline_s);

const struct drain *drain_of(const struct control *control, uint32_t gpu);
/* Whether a program that has no device of this GPU (or of this node) is refused, with `refusal`. */
bool drain_refuses(const struct control *control, uint32_t gpu, struct refusal *refusal);
/* An application has ended, or left a GPU. */
void drain_look(struct control *control);

#endif

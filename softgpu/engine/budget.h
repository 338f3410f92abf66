/* SPDX-License-Identifier: Apache-2.0 */
/* The budget: memory of this machine that softgpu may take for the program besides the memory of
 * its GPUs and what the program pins. Charged is what a program makes large by small means: parsed
 * PTX, blocks that run with their local memory, nested calls, what kernels print, the launches that
 * they order.
 *
 * Note: what is reserved counts whole, whether it is touched or not. Any thread. */
#ifndef SOFTGPU_ENGINE_BUDGET_H
#define SOFTGPU_ENGINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* There is no limit until somebody sets one. */
void sg_budget_set(uint64_t bytes);
uint64_t sg_budget_most(void);
uint64_t sg_budget_held(void);
/* False: that would be more than allowed; `what` for the log ("parsed PTX"), NULL: not logged. */
bool sg_budget_take(uint64_t bytes, const char *what);
void sg_budget_give(uint64_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Whether programs are counted for the timing model (model/counts.h). */
#ifndef SOFTGPU_ENGINE_COST_H
#define SOFTGPU_ENGINE_COST_H

#include <stdbool.h>

/* Whether programs that are loaded from now on can be counted, which costs one more instruction in
 * each basic block. Called before the first program is loaded. */
void sg_cost_count(bool wanted);
bool sg_cost_counted(void);

#endif

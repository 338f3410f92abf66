/* SPDX-License-Identifier: Apache-2.0 */
/* Every CUresult of the toolkit's cuda.h, generated, in the order of the header. */
#ifndef FRONT_CORE_RESULTS_H
#define FRONT_CORE_RESULTS_H

#include <stddef.h>

struct front_result {
    int value;
    const char *name;
};
extern const struct front_result front_results[];
extern const size_t front_result_count;

#endif

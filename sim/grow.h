/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling. */
#ifndef SIM_GROW_H
#define SIM_GROW_H

#include <stdlib.h>

#include "base/status.h"

/* Room for one more element behind `count` of the array, whose room in elements is `room`. Returns
 * GA_NO_MEMORY from the calling function where there is none. */
#define SIM_GROW(array, count, room)                                                               \
    do {                                                                                           \
        if ((count) == (room)) {                                                                   \
            size_t grow_room_ = (room) != 0 ? (size_t)(room)*2 : 16;                               \
            void *grow_new_ = realloc((array), grow_room_ * sizeof *(array));                      \
            if (grow_new_ == NULL) {                                                               \
                return GA_NO_MEMORY;                                                               \
            }                                                                                      \
            (array) = grow_new_;                                                                   \
            (room) = grow_room_;                                                                   \
        }                                                                                          \
    } while (0)

#endif

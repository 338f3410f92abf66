/* SPDX-License-Identifier: Apache-2.0 */
/* The primary context that the driver has of a GPU is charged as any other context is: once for an
 * application, while the program has it, or the server keeps it for pinned memory (staging.h).
 *
 * Note: in a process of several applications the context is one, and each application that needs
 * it is charged with it.
 *
 * All is for the submit thread; at the end, for the thread that frees. */
#ifndef SERVER_CHARGE_PRIMARY_H
#define SERVER_CHARGE_PRIMARY_H

#include <stdbool.h>

#include "server/charge/ledger.h"

/* The application uses this GPU, which has this index in the list that clients see; a context takes
 * `context_bytes` of its memory. Any number of times. */
void primary_know(struct ledger *ledger, CUdevice device, uint32_t gpu, uint64_t context_bytes);
/* Whether it is charged, so that one more hold costs nothing. */
bool primary_is_held(struct ledger *ledger, CUdevice device);
/* Holds it; charges it if it is not. CUDA_ERROR_OUT_OF_MEMORY: that would be more than allowed. */
CUresult primary_hold(struct ledger *ledger, CUdevice device);
/* Holds it, whose charge the caller has made if it was not held. */
void primary_hold_charged(struct ledger *ledger, CUdevice device);
/* Gives up a hold; the last one returns the charge. */
void primary_drop(struct ledger *ledger, CUdevice device);
/* The program has given up its context, for whose kernels so many bytes are charged. Where the
 * server still holds the driver's they stay charged (true), until that ends or the program has a
 * context again, which takes them over. */
bool primary_keep(struct ledger *ledger, CUdevice device, uint64_t kernel_bytes);
uint64_t primary_take_over(struct ledger *ledger, CUdevice device);

#endif

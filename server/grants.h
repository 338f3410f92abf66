/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on the GPUs: how the sessions of a backend process ask for them, and how gpuaasd grants
 * them. Two pieces of memory lie between the two, with a slot for each session: that of an
 * application, by its seat, on a GPU. (Strings, SC14, III-C: the Request Control Block.)
 *
 * The requests are the process's: gpuaasd copies what it reads there, and believes none of it. The
 * grants are gpuaasd's: the process can only read them. An end that has changed something that the
 * other waits for rings: a byte over a socketpair, which says no more than that.
 *
 *   gpuaasd                            session
 *     <------------ request {0, H2D}     it has work, and no turn
 *     grant {1, all, until} ---------->  it works: turn 1
 *     <------------ request {1, KL}      its time is over, and so is its work; it wants another
 *
 * Turns end by time, and a session returns its turn when the work that runs then is done. One that
 * has not returned it some patience after `until`, or that looks no more whether it could, has lost
 * it, and gets no other before it has returned that one. */
#ifndef SERVER_GRANTS_H
#define SERVER_GRANTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gpu_engine.h"
#include "server/channel.h"

/* Descriptors of the backend process: requests, grants, and its end of the socketpair. */
#define GRANTS_REQUEST_FD 5
#define GRANTS_FD         6
#define GRANTS_BELL_FD    7

#define GRANT_ALL (1u << GPU_PHASE_KL | 1u << GPU_PHASE_H2D | 1u << GPU_PHASE_D2H)
/* With the phases of a grant: nobody else wants the GPU, `until_ns` does not count. */
#define GRANT_ALONE 16u
/* All phases, without a question: no policy holds here. */
#define GRANT_FREE 32u

struct grant_request {
    /* The turn that it has returned last, and the phase for which it wants one (GPU_PHASE_DFL:
     * none): grant_word(). */
    _Alignas(64) _Atomic uint64_t word;
    /* When the session looked last whether it could return its turn, by ga_clock_ns(). */
    _Atomic uint64_t looked_ns;
};

struct grant {
    /* The turn, from 1, each greater than the last, and what is allowed in it (a bit for each
     * phase, GRANT_ALONE, GRANT_FREE): grant_word(). */
    _Alignas(64) _Atomic uint64_t word;
    /* The turn's begin and end, by ga_clock_ns(); written before the word. */
    _Atomic uint64_t since_ns, until_ns;
    _Atomic uint64_t horizon_ns, hold_ns, patience_ns; /* struct scheduler_settings */
};

/* By the GPU's index in the list that clients see. Only the pages that are used take memory. */
struct grant_requests {
    struct grant_request of[CHANNEL_SEATS][CONF_GPUS_MAX];
};

struct grants {
    struct grant of[CHANNEL_SEATS][CONF_GPUS_MAX];
};

static inline uint64_t grant_word(uint64_t turn, unsigned what)
{
    return turn << 8 | what;
}

static inline uint64_t grant_turn(uint64_t word)
{
    return word >> 8;
}

static inline unsigned grant_what(uint64_t word)
{
    return (unsigned)(word & 255);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a function of ours answers. A reader would think it mirrors CUresult: it does not; only
 * client/, front/, softgpu/ and server/ translate between the two. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

enum ga_status {
    GA_OK = 0,
    GA_AGAIN,       /* nothing wrong: not now (a full queue, a non-blocking socket) */
    GA_NO_MEMORY,   /* memory, descriptors, address space */
    GA_INVALID,     /* bytes or arguments that cannot be right */
    GA_DENIED,      /* who asks may not */
    GA_TIMEOUT,     /* bounded time is over */
    GA_LOST,        /* the other end is gone */
    GA_UNSUPPORTED, /* known, and not provided */
};

/* A result that must not be ignored. */
#define GA_CHECKED __attribute__((warn_unused_result))

/* Returns from the calling function with the status of `expr` unless it is GA_OK. */
#define GA_TRY(expr)                                                                               \
    do {                                                                                           \
        enum ga_status ga_try_status_ = (expr);                                                    \
        if (ga_try_status_ != GA_OK) {                                                             \
            return ga_try_status_;                                                                 \
        }                                                                                          \
    } while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The status that a function returns. It does not mirror CUresult; only client/, front/,
 * softgpu/ and server/ translate between the two. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

enum ga_status {
    GA_OK = 0,
    GA_AGAIN,       /* not now (a full queue, a non-blocking socket); no error */
    GA_NO_MEMORY,   /* memory, descriptors, address space */
    GA_INVALID,     /* invalid bytes or arguments */
    GA_DENIED,      /* the caller is not permitted */
    GA_TIMEOUT,     /* the time limit has been reached */
    GA_LOST,        /* the other end is gone */
    GA_UNSUPPORTED, /* known, but not provided */
    GA_NOT_FOUND,   /* there is nothing of this name or number */
    GA_CONFLICT,    /* it is there already, or somebody else has changed it meanwhile */
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

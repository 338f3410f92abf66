/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/cuda_names.h"

const char *refusal_word(enum refusal_reason reason)
{
    static const char *const words[] = {
#define REASON(name, word) word,
        REFUSAL_REASONS(REASON)
#undef REASON
    };
    return words[reason];
}

bool refusal_set(struct refusal *refusal, enum refusal_reason reason, int32_t result,
                 const char *format, ...)
{
    va_list values;
    refusal->reason = reason;
    refusal->limit = LIMIT_COUNT;
    refusal->result = result;
    va_start(values, format);
    vsnprintf(refusal->why, sizeof refusal->why, format, values);
    va_end(values);
    return false;
}

bool refusal_limit(struct refusal *refusal, enum limit limit, const char *format, ...)
{
    va_list values;
    refusal->reason = REFUSAL_LIMIT;
    refusal->limit = limit;
    refusal->result = CUDA_ERROR_NOT_PERMITTED;
    va_start(values, format);
    vsnprintf(refusal->why, sizeof refusal->why, format, values);
    va_end(values);
    return false;
}

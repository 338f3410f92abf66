/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/refusal.h"

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

__attribute__((format(printf, 5, 0))) static bool refusal_write(struct refusal *refusal,
                                                                enum refusal_reason reason,
                                                                enum limit limit, int32_t result,
                                                                const char *format, va_list values)
{
    refusal->reason = reason;
    refusal->limit = limit;
    refusal->result = result;
    vsnprintf(refusal->why, sizeof refusal->why, format, values);
    return false;
}

bool refusal_set(struct refusal *refusal, enum refusal_reason reason, int32_t result,
                 const char *format, ...)
{
    va_list values;
    va_start(values, format);
    bool allowed = refusal_write(refusal, reason, LIMIT_COUNT, result, format, values);
    va_end(values);
    return allowed;
}

bool refusal_limit(struct refusal *refusal, enum limit limit, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    bool allowed =
        refusal_write(refusal, REFUSAL_LIMIT, limit, CUDA_ERROR_NOT_PERMITTED, format, values);
    va_end(values);
    return allowed;
}

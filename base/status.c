/* The names of ga_status. */
#include "base/status.h"

const char *ga_status_name(enum ga_status status)
{
    switch (status) {
    case GA_OK:
        return "ok";
    case GA_AGAIN:
        return "not now";
    case GA_NO_MEMORY:
        return "out of memory";
    case GA_INVALID:
        return "invalid";
    case GA_DENIED:
        return "denied";
    case GA_TIMEOUT:
        return "timed out";
    case GA_LOST:
        return "connection lost";
    case GA_UNSUPPORTED:
        return "not supported";
    }
    return "unknown status";
}

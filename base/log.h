/* One line per event on stderr: "gpuaas[PID] level: text". Whoever decides that something is an
 * error logs it, once. Level from GPUAAS_LOG (error, warn, info, debug); default warn in programs
 * that use the client library, info in gpuaasd (which calls ga_log_set_level). Lines that nobody
 * reads (a full pipe) are counted instead of waited for. */
#ifndef GA_LOG_H
#define GA_LOG_H

#include <stdbool.h>

enum ga_log_level { GA_LOG_ERROR, GA_LOG_WARN, GA_LOG_INFO, GA_LOG_DEBUG };

/* Names the program in front of each line; `name` is borrowed for ever. Default "gpuaas". */
void ga_log_set_name(const char *name);
const char *ga_log_name(void);
void ga_log_set_level(enum ga_log_level level);
/* Reads "error", "warn", "info" or "debug"; false (and no change) for anything else. */
bool ga_log_level_parse(const char *text, enum ga_log_level *level);
bool ga_log_enabled(enum ga_log_level level);

/* Control characters of the formatted text are replaced by '?': names may come from a peer. */
void ga_log(enum ga_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ga_error(...) ga_log(GA_LOG_ERROR, __VA_ARGS__)
#define ga_warn(...)  ga_log(GA_LOG_WARN, __VA_ARGS__)
#define ga_info(...)  ga_log(GA_LOG_INFO, __VA_ARGS__)
#define ga_debug(...)                                                                              \
    do {                                                                                           \
        if (ga_log_enabled(GA_LOG_DEBUG)) {                                                        \
            ga_log(GA_LOG_DEBUG, __VA_ARGS__);                                                     \
        }                                                                                          \
    } while (0)

#endif

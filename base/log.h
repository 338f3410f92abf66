/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr: "TIME gpuaas[PID] level: text", or a JSON object. The code that
 * decides that something is an error logs it, once. Level and form from GPUAAS_LOG (error, warn,
 * info, debug) and GPUAAS_LOG_FORMAT (text, json); default warn and text in programs that use the
 * client library, in gpuaasd what its configuration says.
 *
 * What a reader would get wrong: not every line is written. One place in the code writes at most
 * GA_LOG_LINES_A_SECOND; further lines are only counted. Lines for a full pipe, which nobody reads,
 * are counted, too, instead of waiting. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GA_LOG_LINES_A_SECOND 10u

enum ga_log_level { GA_LOG_ERROR, GA_LOG_WARN, GA_LOG_INFO, GA_LOG_DEBUG };
enum ga_log_format { GA_LOG_TEXT, GA_LOG_JSON };

/* What a level or a form can be, for messages. */
#define GA_LOG_LEVELS  "error, warn, info or debug"
#define GA_LOG_FORMATS "text or json"

/* Names the program in each line; `name` is borrowed for ever. Default "gpuaas". */
void ga_log_set_name(const char *name);
const char *ga_log_name(void);
/* The address of the only client that this process serves; borrowed for ever. */
void ga_log_set_client(const char *address);
/* Reads the environment, unless that has been done, and says what is wrong there. */
void ga_log_begin(void);
void ga_log_set_level(enum ga_log_level level);
void ga_log_set_format(enum ga_log_format format);
/* Before the end: tells what has been counted and not yet been told. */
void ga_log_end(void);
/* False (and no change): the text is none of GA_LOG_LEVELS, or GA_LOG_FORMATS. */
bool ga_log_level_parse(const char *text, enum ga_log_level *level);
bool ga_log_format_parse(const char *text, enum ga_log_format *format);
const char *ga_log_level_name(enum ga_log_level level);
const char *ga_log_format_name(enum ga_log_format format);
bool ga_log_enabled(enum ga_log_level level);

/* A place in the code that logs, static and zero at first. */
struct ga_log_place {
    _Atomic uint64_t second;     /* in which `lines` were written */
    atomic_uint lines, left_out; /* since then; not yet told */
    const char *_Atomic format;  /* NULL: nothing has been left out ever */
    struct ga_log_place *next;   /* of those that have */
};

/* `place` NULL: every line is written, as are those of level debug, which somebody has asked for.
 * `client`: the address of the client that it is about; NULL: the
 * one of ga_log_set_client, or none; "": none. Of the formatted text, control characters and what
 * is no UTF-8 are replaced by '?': names may come from a peer. */
void ga_log_write(struct ga_log_place *place, enum ga_log_level level, const char *client,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#define ga_log_of(client, level, ...)                                                              \
    do {                                                                                           \
        static struct ga_log_place ga_log_here;                                                    \
        ga_log_write(&ga_log_here, level, client, __VA_ARGS__);                                    \
    } while (0)
#define ga_log(level, ...)      ga_log_of(NULL, level, __VA_ARGS__)
#define ga_error(...)           ga_log(GA_LOG_ERROR, __VA_ARGS__)
#define ga_warn(...)            ga_log(GA_LOG_WARN, __VA_ARGS__)
#define ga_warn_of(client, ...) ga_log_of(client, GA_LOG_WARN, __VA_ARGS__)
#define ga_info(...)            ga_log(GA_LOG_INFO, __VA_ARGS__)
#define ga_info_of(client, ...) ga_log_of(client, GA_LOG_INFO, __VA_ARGS__)
/* A line of a list, which is written whole. */
#define ga_info_each(client, ...) ga_log_write(NULL, GA_LOG_INFO, client, __VA_ARGS__)
#define ga_debug(...)                                                                              \
    do {                                                                                           \
        if (ga_log_enabled(GA_LOG_DEBUG)) {                                                        \
            ga_log(GA_LOG_DEBUG, __VA_ARGS__);                                                     \
        }                                                                                          \
    } while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The log: a line per event on stderr, "TIME gpuaas[PID] level: text" or a JSON object. The code
 * that decides that something is an error logs it, once. Programs with the client library take
 * level and format from GPUAAS_LOG (error, warn, info, debug; default warn) and GPUAAS_LOG_FORMAT
 * (text, json; default text), gpuaasd from its configuration.
 *
 * Note: not every line is written. A place in the code writes at most GA_LOG_LINES_A_SECOND;
 * further lines are only counted. Lines for a full pipe without a reader are counted as well,
 * instead of waiting. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GA_LOG_LINES_A_SECOND 10u

enum ga_log_level { GA_LOG_ERROR, GA_LOG_WARN, GA_LOG_INFO, GA_LOG_DEBUG };
/* GA_LOG_RECORD: for the process that started this one, which writes it to its own log
 * (log_stream.h). */
enum ga_log_format { GA_LOG_TEXT, GA_LOG_JSON, GA_LOG_RECORD };

/* Levels and formats, for error messages; and GPUAAS_LOG_FORMAT of GA_LOG_RECORD, which is none for
 * users. */
#define GA_LOG_LEVELS      "error, warn, info or debug"
#define GA_LOG_FORMATS     "text or json"
#define GA_LOG_RECORD_WORD "record"

/* Sets the program's name in each line, borrowed for ever. Default: "gpuaas". */
void ga_log_set_name(const char *name);
const char *ga_log_name(void);
/* Sets the address of the client that this process serves, borrowed until it is replaced. */
void ga_log_set_client(const char *address);
/* Sets that of the client that the calling thread serves, borrowed until it is replaced or the
 * thread ends. NULL: the process's. */
void ga_log_set_thread_client(const char *address);
/* Reads the environment, unless that has been done, and reports errors in it. */
void ga_log_begin(void);
void ga_log_set_level(enum ga_log_level level);
void ga_log_set_format(enum ga_log_format format);
/* To be called at the end: reports the lines that were counted and not reported. */
void ga_log_end(void);
/* False, without a change: the text is none of GA_LOG_LEVELS, or GA_LOG_FORMATS. */
bool ga_log_level_parse(const char *text, enum ga_log_level *level);
bool ga_log_format_parse(const char *text, enum ga_log_format *format);
const char *ga_log_level_name(enum ga_log_level level);
const char *ga_log_format_name(enum ga_log_format format);
bool ga_log_enabled(enum ga_log_level level);

/* A place in the code that logs; static, initially zero. */
struct ga_log_place {
    _Atomic uint64_t second;     /* the second in which `lines` were written */
    atomic_uint lines, left_out; /* since then; not reported yet */
    const char *_Atomic format;  /* NULL: no line has ever been left out */
    struct ga_log_place *next;   /* next of the places that have left out lines */
};

/* `place` NULL: every line is written, as are all lines of level debug. `client`: the address of
 * the client that the line is about; NULL: that of the thread, else that of the process, or none;
 * "": none. Control characters and invalid UTF-8 in the formatted text become '?', because names
 * may come from a peer. */
void ga_log_write(struct ga_log_place *place, enum ga_log_level level, const char *client,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes a line in the name of another process, with any text, which is cleaned. It does not wait
 * for a slow reader of stderr. */
void ga_log_relay(const char *name, int pid, enum ga_log_level level, const char *client,
                  const char *text);

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
/* A line of a list, of which no line may be left out. */
#define ga_info_each(client, ...) ga_log_write(NULL, GA_LOG_INFO, client, __VA_ARGS__)
#define ga_debug(...)                                                                              \
    do {                                                                                           \
        if (ga_log_enabled(GA_LOG_DEBUG)) {                                                        \
            ga_log(GA_LOG_DEBUG, __VA_ARGS__);                                                     \
        }                                                                                          \
    } while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The log of another process, as it comes out of a pipe: records (GA_LOG_RECORD), and whatever else
 * that process, its libraries and its sanitizer write to descriptor 2. That process may be one that
 * somebody has taken over: it may write what it likes, as much as it likes, and never a newline.
 *
 * A record is "<" priority ">" client TAB text NEWLINE. Everything else is a line of its own.
 *
 * Note: the lines that a process writes last are never left out, because they say why it ended. */
#ifndef BASE_LOG_STREAM_H
#define BASE_LOG_STREAM_H

#include <stddef.h>

#include "base/log.h"

#define GA_LOG_STREAM_LINE  1024u        /* bytes of a line; the rest is cut off */
#define GA_LOG_STREAM_BURST (128u << 10) /* bytes that are written at once, */
#define GA_LOG_STREAM_RATE  (8u << 10)   /* and then in a second */
#define GA_LOG_STREAM_LAST  8192u        /* of what was left out, is written at the end */

struct ga_log_said {
    enum ga_log_level level;
    bool record;        /* it is one; otherwise just a line */
    const char *client; /* as that process says; NULL: none */
    const char *text;   /* whatever it is, in one line */
};

struct ga_log_stream {
    void (*told)(void *user, const struct ga_log_said *said);
    void *user;
    unsigned times;
    uint64_t room, room_ns; /* bytes that may be written, and when it was counted */
    bool silent;            /* there was no room, and is not enough yet */
    unsigned left_out;      /* lines, since it is silent */
    unsigned half;          /* which is written to */
    size_t used;
    char line[GA_LOG_STREAM_LINE];
    struct {
        unsigned lines;
        size_t used;
        char text[GA_LOG_STREAM_LAST / 2];
    } last[2]; /* of those that were left out */
};

/* `told` gets each line that is to be written. `times` as much as above is. */
void ga_log_stream_init(struct ga_log_stream *stream, unsigned times,
                        void (*told)(void *user, const struct ga_log_said *said), void *user,
                        uint64_t now_ns);
/* These bytes have come. */
void ga_log_stream_take(struct ga_log_stream *stream, const char *bytes, size_t count,
                        uint64_t now_ns);
/* No more come. */
void ga_log_stream_end(struct ga_log_stream *stream);

#endif

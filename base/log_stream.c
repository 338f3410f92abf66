/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_stream.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log_line.h"

#define LINE_COST 100u                       /* bytes of a line besides its text */
#define RESUME    (GA_LOG_STREAM_BURST / 16) /* what there must be room for again */

static uint64_t burst(const struct ga_log_stream *stream)
{
    return (uint64_t)stream->times * GA_LOG_STREAM_BURST;
}

void ga_log_stream_init(struct ga_log_stream *stream, unsigned times,
                        void (*told)(void *user, const struct ga_log_said *said), void *user,
                        uint64_t now_ns)
{
    *stream = (struct ga_log_stream){.told = told, .user = user, .times = times, .room_ns = now_ns};
    stream->room = burst(stream);
}

/* ---- a line */

/* Splits a record, in its place. False: the line is none. */
static bool stream_record_read(char *line, struct ga_log_said *said)
{
    const char *level =
        line[0] == '<' && line[1] != 0 ? strchr(log_level_priorities, line[1]) : NULL;
    char *tab = level != NULL && line[2] == '>' ? strchr(line, '\t') : NULL;
    if (tab == NULL) {
        return false;
    }
    *tab = 0;
    said->level = (enum ga_log_level)(level - log_level_priorities);
    said->client = line[3] != 0 ? line + 3 : NULL;
    said->text = tab + 1;
    return true;
}

static void line_tell(const struct ga_log_stream *stream, const char *line, size_t length)
{
    char text[GA_LOG_STREAM_LINE];
    memcpy(text, line, length);
    text[length] = 0;
    struct ga_log_said said = {.level = GA_LOG_WARN, .text = text};
    said.record = stream_record_read(text, &said);
    stream->told(stream->user, &said);
}

static void stream_gap_tell(struct ga_log_stream *stream, unsigned lines)
{
    char text[64];
    snprintf(text, sizeof text, "%u lines of this process were left out", lines);
    const struct ga_log_said said = {.level = GA_LOG_WARN, .record = true, .text = text};
    if (lines != 0) {
        stream->told(stream->user, &said);
    }
}

/* ---- how much */

static void room_count(struct ga_log_stream *stream, uint64_t now_ns)
{
    const uint64_t most = burst(stream);
    uint64_t passed_ms = (now_ns - stream->room_ns) / GA_NS_PER_MS;
    passed_ms = passed_ms < 1000000 ? passed_ms : 1000000;
    uint64_t more = passed_ms * stream->times * GA_LOG_STREAM_RATE / 1000;
    if (more != 0) {
        stream->room = stream->room + more < most ? stream->room + more : most;
        stream->room_ns = now_ns;
    }
}

/* Whether a line of so many bytes may be written. */
static bool stream_room_take(struct ga_log_stream *stream, size_t length)
{
    if (stream->silent && stream->room >= RESUME) {
        stream->silent = false;
        stream_gap_tell(stream, stream->left_out);
        stream->left_out = 0;
        stream->last[0].lines = stream->last[1].lines = 0;
        stream->last[0].used = stream->last[1].used = 0;
    }
    stream->silent = stream->silent || stream->room < length + LINE_COST;
    stream->room -= stream->silent ? 0 : length + LINE_COST;
    return !stream->silent;
}

/* The older half is forgotten when the other one is full. */
static void line_keep(struct ga_log_stream *stream, const char *line, size_t length)
{
    if (sizeof stream->last->text - stream->last[stream->half].used <= length) {
        stream->half ^= 1;
        stream->last[stream->half].used = 0;
        stream->last[stream->half].lines = 0;
    }
    char *at = stream->last[stream->half].text + stream->last[stream->half].used;
    memcpy(at, line, length);
    at[length] = '\n';
    stream->last[stream->half].used += length + 1;
    stream->last[stream->half].lines++;
    stream->left_out++;
}

static void line_end(struct ga_log_stream *stream)
{
    if (stream->used != 0 && stream_room_take(stream, stream->used)) {
        line_tell(stream, stream->line, stream->used);
    } else if (stream->used != 0) {
        line_keep(stream, stream->line, stream->used);
    }
    stream->used = 0;
}

void ga_log_stream_take(struct ga_log_stream *stream, const char *bytes, size_t count,
                        uint64_t now_ns)
{
    room_count(stream, now_ns);
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            line_end(stream);
        } else if (stream->used < sizeof stream->line - 1) {
            stream->line[stream->used++] = bytes[i] != 0 ? bytes[i] : '?';
        }
    }
}

void ga_log_stream_end(struct ga_log_stream *stream)
{
    line_end(stream);
    stream_gap_tell(stream, stream->left_out - stream->last[0].lines - stream->last[1].lines);
    for (unsigned i = 0; i < 2; i++) {
        unsigned half = stream->half ^ 1 ^ i; /* the older one first */
        const char *at = stream->last[half].text, *end = at + stream->last[half].used;
        for (const char *stop; at < end; at = stop + 1) {
            stop = memchr(at, '\n', (size_t)(end - at));
            line_tell(stream, at, (size_t)(stop - at));
        }
        stream->last[half].used = 0;
        stream->last[half].lines = 0;
    }
    stream->left_out = 0;
}

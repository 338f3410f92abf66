/* SPDX-License-Identifier: Apache-2.0 */
/* Reader and writer of traces. */
#include "sim/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "sim/file.h"
#include "sim/grow.h"

#define TRACE_WORDS_MAX 6u
#define TRACE_FORMAT    "gpuaas-trace 1"

struct trace_reading {
    const char *name;
    unsigned line;
    struct sim_trace *trace;
    size_t stream_room, request_room, phase_room;
    uint64_t *stream_arrival_ns; /* of the last request of each stream */
    size_t arrival_room;
    bool begun; /* the first line was good */
    char *why;
    size_t why_room;
};

struct trace_words {
    char *word[TRACE_WORDS_MAX];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static enum ga_status trace_wrong(struct trace_reading *r,
                                                                        const char *format, ...)
{
    int head = snprintf(r->why, r->why_room, "%s:%u: ", r->name, r->line);
    if (head > 0 && (size_t)head < r->why_room) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(r->why + head, r->why_room - (size_t)head, format, args);
        va_end(args);
    }
    return GA_INVALID;
}

static bool trace_number(const char *word, uint64_t most, uint64_t *number)
{
    const char *end;
    uint64_t read;
    if (!ga_digits_read(word, &end, &read) || *end != 0 || read > most) {
        return false;
    }
    *number = read;
    return true;
}

static bool trace_share(const char *word, double *share)
{
    char *end;
    if (strspn(word, "0123456789.e-") != strlen(word)) { /* neither hexadecimal, inf nor nan */
        return false;
    }
    double read = strtod(word, &end);
    if (end == word || *end != 0 || !(read >= 0 && read <= 1)) {
        return false;
    }
    *share = read;
    return true;
}

static bool trace_name_is_good(const char *name)
{
    return strlen(name) < SIM_NAME_BYTES;
}

/* The stream of this name, made if there is none. Requests of a stream mostly follow each other. */
static enum ga_status trace_stream(struct trace_reading *r, const char *name, uint32_t *stream)
{
    struct sim_trace *t = r->trace;
    if (t->request_count != 0) {
        uint32_t last = t->requests[t->request_count - 1].stream;
        if (strcmp(t->streams[last], name) == 0) {
            *stream = last;
            return GA_OK;
        }
    }
    for (uint32_t i = 0; i < t->stream_count; i++) {
        if (strcmp(t->streams[i], name) == 0) {
            *stream = i;
            return GA_OK;
        }
    }
    if (!trace_name_is_good(name) || t->stream_count == SIM_TRACE_STREAMS_MAX) {
        return trace_wrong(r, "%s: a name has at most %d characters, and a trace %u streams", name,
                           SIM_NAME_BYTES - 1, SIM_TRACE_STREAMS_MAX);
    }
    SIM_GROW(t->streams, t->stream_count, r->stream_room);
    SIM_GROW(r->stream_arrival_ns, t->stream_count, r->arrival_room);
    memcpy(t->streams[t->stream_count], name, strlen(name) + 1);
    r->stream_arrival_ns[t->stream_count] = 0;
    *stream = t->stream_count++;
    return GA_OK;
}

/* request STREAM ARRIVAL ROUNDS */
static enum ga_status trace_request(struct trace_reading *r, const struct trace_words *words)
{
    struct sim_trace *t = r->trace;
    struct sim_trace_request request = {.phase_first = t->phase_count};
    uint64_t rounds;
    if (words->count != 4) {
        return trace_wrong(r, "a request has this form: request STREAM ARRIVAL_NS ROUNDS");
    }
    if (t->request_count == SIM_TRACE_REQUESTS_MAX) {
        return trace_wrong(r, "more than %u requests", SIM_TRACE_REQUESTS_MAX);
    }
    GA_TRY(trace_stream(r, words->word[1], &request.stream));
    if (strcmp(words->word[2], "after") == 0) {
        request.arrival_ns = SIM_ARRIVES_AFTER;
    } else if (!trace_number(words->word[2], SIM_TRACE_NS_MAX, &request.arrival_ns) ||
               request.arrival_ns < r->stream_arrival_ns[request.stream]) {
        return trace_wrong(r,
                           "arrival %s: allowed: \"after\", or nanoseconds, not before the "
                           "arrival of the request before it of the same stream",
                           words->word[2]);
    } else {
        r->stream_arrival_ns[request.stream] = request.arrival_ns;
    }
    if (!trace_number(words->word[3], SIM_TRACE_ROUNDS_MAX, &rounds) || rounds == 0) {
        return trace_wrong(r, "rounds %s: allowed: 1 to %u", words->word[3], SIM_TRACE_ROUNDS_MAX);
    }
    request.rounds = (uint32_t)rounds;
    SIM_GROW(t->requests, t->request_count, r->request_room);
    t->requests[t->request_count++] = request;
    return GA_OK;
}

static enum ga_status trace_copy_read(struct trace_reading *r, const struct trace_words *words,
                                      struct sim_phase *phase)
{
    if (words->count != 4 || !trace_number(words->word[2], UINT64_C(1) << 50, &phase->bytes) ||
        phase->bytes == 0) {
        return trace_wrong(r,
                           "a copy has this form: %s NS BYTES pinned|pageable, with at least "
                           "one byte",
                           words->word[0]);
    }
    phase->pinned = strcmp(words->word[3], "pinned") == 0;
    if (!phase->pinned && strcmp(words->word[3], "pageable") != 0) {
        return trace_wrong(r, "memory %s: allowed: pinned, pageable", words->word[3]);
    }
    return GA_OK;
}

static enum ga_status trace_kernel_read(struct trace_reading *r, const struct trace_words *words,
                                        struct sim_phase *phase)
{
    if (words->count != 5 || !trace_share(words->word[2], &phase->places) ||
        !trace_share(words->word[3], &phase->issue) ||
        !trace_share(words->word[4], &phase->bandwidth) || phase->places == 0) {
        return trace_wrong(r, "a kernel has this form: kernel NS PLACES ISSUE BANDWIDTH, each of "
                              "the three from 0 to 1, and some places");
    }
    return GA_OK;
}

static enum ga_status trace_phase(struct trace_reading *r, const struct trace_words *words,
                                  enum gpu_phase kind)
{
    struct sim_trace *t = r->trace;
    struct sim_phase phase = {.kind = kind};
    if (t->request_count == 0) {
        return trace_wrong(r, "%s: stands before the first request", words->word[0]);
    }
    if (words->count < 2 || !trace_number(words->word[1], SIM_TRACE_NS_MAX, &phase.ns)) {
        return trace_wrong(r, "%s: nanoseconds are missing or no number", words->word[0]);
    }
    if (t->phase_count == SIM_TRACE_PHASES_MAX) {
        return trace_wrong(r, "more than %u phases", SIM_TRACE_PHASES_MAX);
    }
    if (kind == GPU_PHASE_KL) {
        GA_TRY(trace_kernel_read(r, words, &phase));
    } else if (kind != GPU_PHASE_DFL) {
        GA_TRY(trace_copy_read(r, words, &phase));
    } else if (words->count != 2) {
        return trace_wrong(r, "work of the CPU has this form: cpu NS");
    }
    SIM_GROW(t->phases, t->phase_count, r->phase_room);
    t->phases[t->phase_count++] = phase;
    t->requests[t->request_count - 1].phase_count++;
    return GA_OK;
}

static const char *const trace_kinds[GPU_PHASES] = {[GPU_PHASE_DFL] = "cpu",
                                                    [GPU_PHASE_KL] = "kernel",
                                                    [GPU_PHASE_H2D] = "h2d",
                                                    [GPU_PHASE_D2H] = "d2h"};

static enum ga_status trace_line(struct trace_reading *r, char *line)
{
    struct trace_words words = {.count = 0};
    if (!r->begun) {
        r->begun = strcmp(line, TRACE_FORMAT) == 0;
        return r->begun ? GA_OK : trace_wrong(r, "the first line must be \"%s\"", TRACE_FORMAT);
    }
    line[strcspn(line, "#")] = 0;
    char *rest = line;
    for (char *word; (word = strtok_r(rest, " \t\r", &rest)) != NULL;) {
        if (words.count == TRACE_WORDS_MAX) {
            return trace_wrong(r, "more than %u words", TRACE_WORDS_MAX);
        }
        words.word[words.count++] = word;
    }
    if (words.count == 0) {
        return GA_OK;
    }
    if (strcmp(words.word[0], "request") == 0) {
        return trace_request(r, &words);
    }
    if (strcmp(words.word[0], "gpu") == 0 && words.count == 2 && r->trace->request_count == 0 &&
        trace_name_is_good(words.word[1])) {
        memcpy(r->trace->gpu, words.word[1], strlen(words.word[1]) + 1);
        return GA_OK;
    }
    for (size_t i = 0; i < sizeof trace_kinds / sizeof *trace_kinds; i++) {
        if (strcmp(words.word[0], trace_kinds[i]) == 0) {
            return trace_phase(r, &words, (enum gpu_phase)i);
        }
    }
    return trace_wrong(r,
                       "\"%.40s\" is no line of a trace; allowed: gpu MODEL (before the first "
                       "request), request, cpu, h2d, kernel, d2h",
                       words.word[0]);
}

static enum ga_status trace_lines(struct trace_reading *r, const char *text)
{
    char line[256];
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        r->line++;
        if (length >= sizeof line) {
            return trace_wrong(r, "the line is longer than %zu characters", sizeof line - 1);
        }
        memcpy(line, text, length);
        line[length] = 0;
        GA_TRY(trace_line(r, line));
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    if (r->trace->request_count == 0) {
        return trace_wrong(r, "the trace has no request");
    }
    return GA_OK;
}

enum ga_status sim_trace_read(const char *name, const char *text, struct sim_trace *trace,
                              char *why, size_t why_room)
{
    *trace = (struct sim_trace){.gpu = "c2050"};
    struct trace_reading r = {
        .name = name, .line = 0, .trace = trace, .why = why, .why_room = why_room};
    enum ga_status status = trace_lines(&r, text);
    free(r.stream_arrival_ns);
    if (status != GA_OK) {
        sim_trace_free(trace);
    }
    return status;
}

enum ga_status sim_trace_read_file(const char *path, struct sim_trace *trace, char *why,
                                   size_t why_room)
{
    char *text;
    GA_TRY(sim_file_read(path, SIM_TRACE_BYTES_MAX, &text, why, why_room));
    enum ga_status status = sim_trace_read(path, text, trace, why, why_room);
    free(text);
    return status;
}

static void trace_phase_write(FILE *out, const struct sim_phase *phase)
{
    fprintf(out, "%s %" PRIu64, trace_kinds[phase->kind], phase->ns);
    if (phase->kind == GPU_PHASE_KL) {
        fprintf(out, " %.9g %.9g %.9g", phase->places, phase->issue, phase->bandwidth);
    } else if (phase->kind != GPU_PHASE_DFL) {
        fprintf(out, " %" PRIu64 " %s", phase->bytes, phase->pinned ? "pinned" : "pageable");
    }
    fputc('\n', out);
}

void sim_trace_write(FILE *out, const struct sim_trace *trace)
{
    fprintf(out, "%s\ngpu %s\n", TRACE_FORMAT, trace->gpu);
    for (uint32_t i = 0; i < trace->request_count; i++) {
        const struct sim_trace_request *request = &trace->requests[i];
        fprintf(out, "request %s ", trace->streams[request->stream]);
        if (request->arrival_ns == SIM_ARRIVES_AFTER) {
            fputs("after", out);
        } else {
            fprintf(out, "%" PRIu64, request->arrival_ns);
        }
        fprintf(out, " %" PRIu32 "\n", request->rounds);
        for (uint32_t p = 0; p < request->phase_count; p++) {
            trace_phase_write(out, &trace->phases[request->phase_first + p]);
        }
    }
}

void sim_trace_free(struct sim_trace *trace)
{
    free(trace->streams);
    free(trace->requests);
    free(trace->phases);
    *trace = (struct sim_trace){.stream_count = 0};
}

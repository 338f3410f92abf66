/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the trace in the format of Chrome: a "process" is a device, a "thread" one lane of one of
 * its engines, since slices of a thread must not overlap and kernels do. */
#include "softgpu/stream/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "softgpu/process/config.h"
#include "softgpu/process/context.h"
#include "softgpu/stream/streams.h"

#define TRACE_LANES                                                                                \
    16u /* of an engine, for what runs side by side; the rest shares the last one                  \
         */
#define TRACE_LINE_MAX 1024u
/* The number of a "process": viewers give 0 another meaning. */
#define TRACE_NUMBER(device) ((device) + 1)

int sg_trace_fd = -1;

static const char *const engine_names[SG_ENGINES] = {[GPU_COMPUTE] = "kernels",
                                                     [GPU_H2D] = "copies to the device",
                                                     [GPU_D2H] = "copies to the host",
                                                     [SG_ENGINE_HOST] = "host functions"};

static struct {
    bool named[SG_DEVICES_MAX];
    bool lane_named[SG_DEVICES_MAX][SG_ENGINES][TRACE_LANES];
    uint64_t until_ns[SG_DEVICES_MAX][SG_ENGINES][TRACE_LANES];
} seen;

/* One write per line, at the end of the file, so lines of several processes do not mix. */
static void trace_line_write(char *line, int length)
{
    errno = 0;
    if (sg_trace_fd < 0 || length <= 0 || (size_t)length >= TRACE_LINE_MAX ||
        write(sg_trace_fd, line, (size_t)length) == length) {
        return;
    }
    ga_error("softgpu: SOFTGPU_TRACE: %s: the trace ends here",
             errno != 0 ? strerror(errno) : "the disk is full");
    sg_trace_close();
}

/* NULL: the file begins as one of ours. Otherwise the reason why it is none. */
static const char *file_begin(int fd)
{
    struct stat facts;
    char first = 0;
    const char *wrong = NULL;
    if (flock(fd, LOCK_EX) != 0 || fstat(fd, &facts) != 0) {
        return strerror(errno);
    }
    if (facts.st_size == 0 && S_ISREG(facts.st_mode)) {
        static const char head[] = "[{\"name\":\"softgpu\",\"ph\":\"M\",\"pid\":1}";
        wrong = write(fd, head, sizeof head - 1) == sizeof head - 1 ? NULL : strerror(errno);
    } else if (!S_ISREG(facts.st_mode) || pread(fd, &first, 1, 0) != 1 || first != '[') {
        wrong = "there is such a file, and it is no trace";
    }
    (void)flock(fd, LOCK_UN);
    return wrong;
}

void sg_trace_open(const char *path)
{
    if (path == NULL || path[0] == 0 || sg_trace_fd >= 0) {
        return;
    }
    /* Non-blocking, because a pipe without a reader would stop the program. */
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    const char *wrong = fd < 0 ? strerror(errno) : file_begin(fd);
    if (wrong != NULL) {
        ga_error("softgpu: SOFTGPU_TRACE: %s: %s; nothing is traced", path, wrong);
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    memset(&seen, 0, sizeof seen);
    sg_trace_fd = fd;
}

void sg_trace_close(void)
{
    if (sg_trace_fd >= 0) {
        close(sg_trace_fd);
        sg_trace_fd = -1;
    }
}

/* `text` as the contents of a JSON string. */
static void escape(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text != 0 && used + 7 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ') {
            used += (size_t)snprintf(out + used, 7, "\\u%04x", c);
            continue;
        }
        if (c == '"' || c == '\\') {
            out[used++] = '\\';
        }
        out[used++] = (char)c;
    }
    out[used] = 0;
}

static void metadata(const char *what, unsigned device, uint64_t lane, const char *name)
{
    char line[TRACE_LINE_MAX];
    trace_line_write(line, snprintf(line, sizeof line,
                                    ",\n{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%" PRIu64
                                    ",\"args\":{\"name\":\"%s\"}}",
                                    what, TRACE_NUMBER(device), lane, name));
}

static unsigned lane_find(unsigned device, unsigned engine, uint64_t start_ns)
{
    unsigned lane = 0;
    while (lane + 1 < TRACE_LANES && seen.until_ns[device][engine][lane] > start_ns) {
        lane++;
    }
    return lane;
}

/* The lane's number in the file, unique among the processes. */
static uint64_t lane_number(const struct sg_device *device, unsigned engine, unsigned lane)
{
    uint64_t number = ((uint64_t)getpid() * SG_ENGINES + engine) * TRACE_LANES + lane;
    char name[SOFT_NAME_BYTES * 2 + 32], escaped[SOFT_NAME_BYTES * 2];
    if (!seen.named[device->ordinal]) {
        seen.named[device->ordinal] = true;
        escape(device->config.name, escaped, sizeof escaped);
        snprintf(name, sizeof name, "device %u: %s", device->ordinal, escaped);
        metadata("process_name", device->ordinal, 0, name);
    }
    if (!seen.lane_named[device->ordinal][engine][lane]) {
        seen.lane_named[device->ordinal][engine][lane] = true;
        snprintf(name, sizeof name, "%s, process %d", engine_names[engine], (int)getpid());
        metadata("thread_name", device->ordinal, number, name);
    }
    return number;
}

void sg_trace_item(const struct sg_item *item, uint64_t start_ns, uint64_t end_ns)
{
    const struct sg_context *context = item->stream->context;
    const struct sg_device *device = context->device;
    if (!sg_trace_runs() || item->note.name == NULL) {
        return;
    }
    unsigned lane = lane_find(device->ordinal, item->engine, start_ns);
    uint64_t number = lane_number(device, item->engine, lane);
    char line[TRACE_LINE_MAX], name[TRACE_LINE_MAX / 2];
    escape(item->note.name, name, sizeof name);
    seen.until_ns[device->ordinal][item->engine][lane] = end_ns;
    trace_line_write(line, snprintf(line, sizeof line,
                                    ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%" PRIu64
                                    ",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64
                                    ".%03u,\"args\":{\"%s\":%" PRIu64 ",\"context\":%" PRIu64
                                    ",\"stream\":%" PRIu64 "}}",
                                    name, TRACE_NUMBER(device->ordinal), number, start_ns / 1000,
                                    (unsigned)(start_ns % 1000), (end_ns - start_ns) / 1000,
                                    (unsigned)((end_ns - start_ns) % 1000), item->note.unit,
                                    item->note.amount, (uint64_t)context->id, item->stream->id));
}

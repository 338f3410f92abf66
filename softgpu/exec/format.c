/* SPDX-License-Identifier: Apache-2.0 */
/* Formatting, one specifier after the other. */
#include "softgpu/exec/format.h"

#include <stdio.h>
#include <string.h>

#define FORMAT_MAX  65536 /* bytes of a format string, so that reading one without an end stops */
#define RECORD_HEAD 24    /* an estimate of the bytes that a GPU stores besides the arguments */

struct spec {      /* of "%[flags][width][.precision][size]type" */
    char text[64]; /* the text; longer ones are no specifiers */
    unsigned length;
    char flags[6]; /* each of them at most once */
    int width, precision;
    bool width_given, precision_given, width_argument, precision_argument;
    char size; /* 'H' for hh, 'h', 'l', 'q' for ll and all other 64-bit sizes, or 0 */
    char type;
};

struct format_run {
    struct sg_format *out;
    const struct sg_format_memory *memory;
    uint64_t format, end, arguments; /* the next character, the end, the next argument */
    int taken;
};

static bool format_fetch(struct format_run *run, uint64_t address, void *to, unsigned bytes)
{
    if (run->out->faulted) {
        return false;
    }
    if ((address & (bytes - 1)) != 0 || !run->memory->read(run->memory, address, to, bytes)) {
        run->out->faulted = true;
        run->out->fault = address;
        return false;
    }
    return true;
}

/* The next character of the format; 0 at its end. */
static char peek(struct format_run *run)
{
    char c = 0;
    return run->format < run->end && format_fetch(run, run->format, &c, 1) ? c : 0;
}

static void format_put(struct format_run *run, const char *text, size_t bytes)
{
    struct sg_format *out = run->out;
    size_t room = sizeof out->text - out->used;
    bytes = bytes < room ? bytes : room;
    memcpy(out->text + out->used, text, bytes);
    out->used += bytes;
}

static uint64_t format_argument(struct format_run *run, unsigned bytes)
{
    uint64_t value = 0;
    run->arguments = (run->arguments + bytes - 1) & ~(uint64_t)(bytes - 1);
    (void)format_fetch(run, run->arguments, &value, bytes);
    run->arguments += bytes;
    run->taken++;
    run->out->charge += 8;
    return value;
}

/* ---- reading a specifier */

static char format_next(struct format_run *run, struct spec *spec)
{
    if (spec->length < sizeof spec->text) {
        spec->text[spec->length] = peek(run);
    }
    spec->length++;
    run->format++;
    return peek(run);
}

static char read_flags(struct format_run *run, struct spec *spec, char c)
{
    while (c != 0 && strchr("#0- +", c) != NULL) {
        if (strchr(spec->flags, c) == NULL) {
            spec->flags[strlen(spec->flags)] = c;
        }
        c = format_next(run, spec);
    }
    return c;
}

/* A number or '*'. */
static char read_number(struct format_run *run, struct spec *spec, char c, int *value, bool *given)
{
    if (c == '*') {
        *given = true;
        return format_next(run, spec);
    }
    *value = 0;
    while (c >= '0' && c <= '9') {
        *value = *value < SG_FORMAT_WIDTH ? *value * 10 + (c - '0') : SG_FORMAT_WIDTH;
        c = format_next(run, spec);
    }
    return c;
}

static char read_size(struct format_run *run, struct spec *spec, char c)
{
    while (c != 0 && strchr("hlLqjzt", c) != NULL) {
        spec->size = c == 'h' ? (spec->size == 'h' ? 'H' : 'h') : c == 'l' ? 'l' : 'q';
        c = format_next(run, spec);
    }
    return c;
}

/* Reads a specifier after its '%'. */
static void read_spec(struct format_run *run, struct spec *spec)
{
    *spec = (struct spec){.text = "%", .length = 1};
    char c = read_flags(run, spec, peek(run));
    spec->width_given = c >= '0' && c <= '9';
    c = read_number(run, spec, c, &spec->width, &spec->width_argument);
    if (c == '.') {
        c = format_next(run, spec);
        spec->precision_given = true;
        c = read_number(run, spec, c, &spec->precision, &spec->precision_argument);
    }
    spec->type = read_size(run, spec, c);
    if (spec->type != 0) {
        (void)format_next(run, spec);
    }
}

/* ---- printing */

static int format_within(int64_t value)
{
    return value > SG_FORMAT_WIDTH ? SG_FORMAT_WIDTH : (int)value;
}

/* Reads the arguments for '*'. */
static void number_arguments(struct format_run *run, struct spec *spec)
{
    if (spec->width_argument) {
        int64_t width = (int32_t)format_argument(run, 4);
        if (width < 0 && strchr(spec->flags, '-') == NULL) {
            spec->flags[strlen(spec->flags)] = '-';
        }
        spec->width = format_within(width < 0 ? -width : width);
        spec->width_given = true;
    }
    if (spec->precision_argument) {
        int64_t precision = (int32_t)format_argument(run, 4);
        spec->precision_given = precision >= 0;
        spec->precision = precision >= 0 ? format_within(precision) : 0;
    }
}

/* The specifier for the host's printf, with its `size` and `type`. */
static void host_format(const struct spec *spec, const char *size, char type, char out[64])
{
    char width[16] = "", precision[16] = "";
    if (spec->width_given) {
        snprintf(width, sizeof width, "%d", format_within(spec->width));
    }
    if (spec->precision_given) {
        snprintf(precision, sizeof precision, ".%d", format_within(spec->precision));
    }
    snprintf(out, 64, "%%%s%s%s%s%c", spec->flags, width, precision, size, type);
}

static void put_padded(struct format_run *run, const struct spec *spec, const char *text,
                       size_t bytes)
{
    size_t width = spec->width_given ? (size_t)format_within(spec->width) : 0;
    bool left = strchr(spec->flags, '-') != NULL;
    for (size_t i = bytes; !left && i < width; i++) {
        format_put(run, " ", 1);
    }
    format_put(run, text, bytes);
    for (size_t i = bytes; left && i < width; i++) {
        format_put(run, " ", 1);
    }
}

static void format_put_string(struct format_run *run, const struct spec *spec, uint64_t address)
{
    char text[SG_FORMAT_TEXT];
    size_t most = spec->precision_given ? (size_t)format_within(spec->precision) : sizeof text,
           used = 0;
    if (address == 0) {
        put_padded(run, spec, "(null)", most < 6 ? most : 6);
        return;
    }
    while (used < most && format_fetch(run, address + used, &text[used], 1) && text[used] != 0) {
        used++;
    }
    run->out->charge += (uint32_t)(used + 8) & ~7u;
    put_padded(run, spec, text, used);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* only host_format makes it */

static void put_number(struct format_run *run, const struct spec *spec)
{
    char format[64], text[SG_FORMAT_WIDTH + 512]; /* a double has 309 digits before the point */
    int length;
    if (strchr("eEfFgGaA", spec->type) != NULL) {
        uint64_t bits = format_argument(run, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        host_format(spec, "", spec->type, format);
        length = snprintf(text, sizeof text, format, value);
    } else if (spec->type == 'p') {
        host_format(spec, "", 'p', format);
        length = snprintf(text, sizeof text, format, (void *)(uintptr_t)format_argument(run, 8));
    } else if (spec->size == 'l' || spec->size == 'q') {
        host_format(spec, "ll", spec->type, format);
        length = snprintf(text, sizeof text, format, (unsigned long long)format_argument(run, 8));
    } else {
        host_format(spec,
                    spec->size == 'H'   ? "hh"
                    : spec->size == 'h' ? "h"
                                        : "",
                    spec->type, format);
        length = snprintf(text, sizeof text, format, (unsigned)format_argument(run, 4));
    }
    if (length > 0) {
        format_put(run, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    }
}

#pragma GCC diagnostic pop

static void put_argument(struct format_run *run, struct spec *spec)
{
    number_arguments(run, spec);
    if (spec->type == 's') {
        format_put_string(run, spec, format_argument(run, 8));
    } else if (spec->type == 'c') {
        const char c = (char)format_argument(run, 4);
        put_padded(run, spec, &c, 1);
    } else {
        put_number(run, spec);
    }
}

static void put_spec(struct format_run *run)
{
    struct spec spec;
    read_spec(run, &spec);
    bool known = spec.type != 0 && strchr("cdiouxXpeEfFgGaAs", spec.type) != NULL;
    int wanted = 1 + spec.width_argument + spec.precision_argument;
    if (spec.type == '%' && spec.length == 2) {
        format_put(run, "%", 1);
    } else if (known && spec.length <= sizeof spec.text &&
               run->taken + wanted <= SG_FORMAT_ARGUMENTS) {
        put_argument(run, &spec);
    } else { /* also %n: nothing is written into memory */
        format_put(run, spec.text, spec.length < sizeof spec.text ? spec.length : sizeof spec.text);
    }
}

void sg_format_print(struct sg_format *out, const struct sg_format_memory *memory, uint64_t format,
                     uint64_t arguments)
{
    out->used = 0;
    out->charge = RECORD_HEAD;
    out->fault = 0;
    out->faulted = false;
    out->result = -1;
    if (format == 0) {
        return;
    }
    struct format_run run = {.out = out,
                             .memory = memory,
                             .format = format,
                             .end = format + FORMAT_MAX,
                             .arguments = arguments};
    char c;
    while ((c = peek(&run)) != 0) {
        run.format++;
        if (c == '%') {
            put_spec(&run);
        } else {
            format_put(&run, &c, 1);
        }
    }
    out->result = run.taken;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake messages as bytes: fixed order, strings last. */
#include "api/handshake.h"

#include "api/wire.h"

static void bytes_write(struct ga_writer *w, const uint8_t *from, size_t size)
{
    ga_write_array(w, from, size, 1, 1);
}

static void bytes_read(struct ga_reader *r, uint8_t *to, size_t size)
{
    ga_read_into(r, to, size, 1);
}

/* A string that must not be NULL; "" after a failure, so callers need no check of their own. */
static const char *handshake_text_read(struct ga_reader *r)
{
    const char *text = ga_read_string(r, HANDSHAKE_STRING_MAX);
    if (text == NULL) {
        r->failed = true;
        return "";
    }
    return text;
}

/* Fields that a newer peer has added are not read. */
static enum ga_status read_end(const struct ga_reader *r)
{
    return r->failed ? GA_INVALID : GA_OK;
}

/* Fields that a minor version has added follow the older ones, 16-aligned. */
static void tail_write(struct ga_writer *w)
{
    ga_writer_finish(w);
}

static bool tail_read(struct ga_reader *r)
{
    return !r->failed && ((r->at + 15) & ~(size_t)15) < r->size &&
           ga_read_array(r, 0, 1, 16) == NULL && !r->failed;
}

void handshake_hello_write(struct ga_writer *w, const struct handshake_hello *m)
{
    ga_write_u32(w, m->magic);
    ga_write_u32(w, m->major);
    ga_write_u32(w, m->minor);
    ga_write_u32(w, m->pid);
    bytes_write(w, m->application, sizeof m->application);
    ga_write_string(w, m->build);
    ga_write_string(w, m->program);
    ga_write_string(w, m->token);
    tail_write(w);
    ga_write_u32(w, m->takes);
    ga_writer_finish(w);
}

enum ga_status handshake_hello_read(struct ga_reader *r, struct handshake_hello *m)
{
    m->magic = ga_read_u32(r);
    m->major = ga_read_u32(r);
    m->minor = ga_read_u32(r);
    if (r->failed || m->magic != WIRE_MAGIC) {
        return GA_INVALID;
    }
    m->pid = ga_read_u32(r);
    bytes_read(r, m->application, sizeof m->application);
    m->build = handshake_text_read(r);
    if (m->major != WIRE_MAJOR) { /* the rest may have another shape */
        m->program = "";
        m->token = NULL;
        m->takes = 0;
        return r->failed ? GA_INVALID : GA_OK;
    }
    m->program = handshake_text_read(r);
    m->token = ga_read_string(r, HANDSHAKE_STRING_MAX);
    m->takes = tail_read(r) ? ga_read_u32(r) : 0;
    return read_end(r);
}

static void device_write(struct ga_writer *w, const struct handshake_device *d)
{
    ga_write_u64(w, d->memory_bytes);
    ga_write_u64(w, d->granularity_bytes);
    ga_write_i32(w, d->priority_least);
    ga_write_i32(w, d->priority_greatest);
    bytes_write(w, d->uuid, sizeof d->uuid);
    ga_write_u32(w, d->attribute_count);
    ga_write_array(w, d->attributes, d->attribute_count, sizeof *d->attributes, 4);
    ga_write_string(w, d->name);
}

/* A client divides and rounds by it. 0: unknown to the server. */
static bool granularity_is_good(uint64_t bytes)
{
    return bytes <= HANDSHAKE_GRANULARITY_MAX && (bytes & (bytes - 1)) == 0;
}

static void device_read(struct ga_reader *r, struct handshake_device *d)
{
    d->memory_bytes = ga_read_u64(r);
    d->granularity_bytes = ga_read_u64(r);
    if (!granularity_is_good(d->granularity_bytes)) {
        r->failed = true;
    }
    d->priority_least = ga_read_i32(r);
    d->priority_greatest = ga_read_i32(r);
    bytes_read(r, d->uuid, sizeof d->uuid);
    d->attribute_count = ga_read_u32(r);
    if (d->attribute_count > HANDSHAKE_ATTRIBUTES_MAX) {
        r->failed = true;
        d->attribute_count = 0;
    }
    d->attributes = ga_read_array(r, d->attribute_count, sizeof *d->attributes, 4);
    if (d->attributes == NULL) {
        d->attribute_count = 0;
    }
    d->name = handshake_text_read(r);
}

void handshake_welcome_write(struct ga_writer *w, const struct handshake_welcome *m)
{
    ga_write_u32(w, m->major);
    ga_write_u32(w, m->minor);
    ga_write_i32(w, m->driver_version);
    ga_write_u32(w, m->device_count);
    ga_write_string(w, m->build);
    ga_write_string(w, m->pool);
    ga_write_string(w, m->node);
    for (uint32_t i = 0; i < m->device_count; i++) {
        device_write(w, &m->devices[i]);
    }
    tail_write(w);
    for (uint32_t i = 0; i < m->device_count; i++) {
        ga_write_u32(w, m->devices[i].traits);
    }
    tail_write(w);
    for (uint32_t i = 0; i < m->device_count; i++) {
        ga_write_u64(w, m->devices[i].peers);
    }
    ga_writer_finish(w);
}

enum ga_status handshake_welcome_read(struct ga_reader *r, struct handshake_welcome *m)
{
    m->major = ga_read_u32(r);
    m->minor = ga_read_u32(r);
    m->driver_version = ga_read_i32(r);
    m->device_count = ga_read_u32(r);
    m->build = handshake_text_read(r);
    if (m->major != WIRE_MAJOR) { /* the rest may have another shape */
        m->pool = m->node = "";
        m->device_count = 0;
        return r->failed ? GA_INVALID : GA_OK;
    }
    m->pool = handshake_text_read(r);
    m->node = handshake_text_read(r);
    if (r->failed || m->device_count > HANDSHAKE_DEVICES_MAX) {
        return GA_INVALID;
    }
    for (uint32_t i = 0; i < m->device_count; i++) {
        device_read(r, &m->devices[i]);
    }
    bool tail = tail_read(r);
    for (uint32_t i = 0; i < m->device_count; i++) {
        m->devices[i].traits = tail ? ga_read_u32(r) : 0;
    }
    tail = tail_read(r);
    for (uint32_t i = 0; i < m->device_count; i++) {
        m->devices[i].peers = tail ? ga_read_u64(r) : 0;
    }
    return read_end(r);
}

void handshake_refused_write(struct ga_writer *w, const struct handshake_refused *m)
{
    ga_write_i32(w, m->result);
    ga_write_string(w, m->reason);
    ga_writer_finish(w);
}

enum ga_status handshake_refused_read(struct ga_reader *r, struct handshake_refused *m)
{
    m->result = ga_read_i32(r);
    m->reason = handshake_text_read(r);
    return m->result == 0 ? GA_INVALID : read_end(r);
}

void handshake_open_write(struct ga_writer *w, const struct handshake_open *m)
{
    ga_write_u32(w, m->device);
    ga_writer_finish(w);
}

enum ga_status handshake_open_read(struct ga_reader *r, struct handshake_open *m)
{
    m->device = ga_read_u32(r);
    return read_end(r);
}

void handshake_ticket_write(struct ga_writer *w, const struct handshake_ticket *m)
{
    ga_write_u64(w, m->process);
    bytes_write(w, m->id, sizeof m->id);
    bytes_write(w, m->key, sizeof m->key);
    ga_write_string(w, m->address);
    tail_write(w);
    ga_write_string(w, m->local);
    tail_write(w);
    ga_write_u32(w, m->ways);
    ga_writer_finish(w);
}

enum ga_status handshake_ticket_read(struct ga_reader *r, struct handshake_ticket *m)
{
    m->process = ga_read_u64(r);
    bytes_read(r, m->id, sizeof m->id);
    bytes_read(r, m->key, sizeof m->key);
    m->address = handshake_text_read(r);
    m->local = tail_read(r) ? handshake_text_read(r) : "";
    m->ways = tail_read(r) ? ga_read_u32(r) : 0;
    return read_end(r);
}

static void window_values_write(struct ga_writer *w, const struct handshake_window *m)
{
    ga_write_u64(w, m->base);
    ga_write_u64(w, m->bytes);
}

static void window_values_read(struct ga_reader *r, struct handshake_window *m)
{
    m->base = ga_read_u64(r);
    m->bytes = ga_read_u64(r);
    if (m->bytes > UINT64_MAX - m->base) {
        r->failed = true;
    }
}

void handshake_window_write(struct ga_writer *w, const struct handshake_window *m)
{
    window_values_write(w, m);
    ga_writer_finish(w);
}

enum ga_status handshake_window_read(struct ga_reader *r, struct handshake_window *m)
{
    window_values_read(r, m);
    return read_end(r);
}

void handshake_data_hello_write(struct ga_writer *w, const struct handshake_data_hello *m)
{
    ga_write_u32(w, m->magic);
    ga_write_u32(w, m->major);
    ga_write_u32(w, m->minor);
    ga_write_u32(w, m->kind);
    ga_write_u32(w, m->device);
    bytes_write(w, m->application, sizeof m->application);
    bytes_write(w, m->id, sizeof m->id);
    bytes_write(w, m->key, sizeof m->key);
    window_values_write(w, &m->window);
    tail_write(w);
    ga_write_u32(w, m->signature_count);
    ga_write_array(w, m->signatures, m->signature_count, sizeof *m->signatures, 4);
    tail_write(w);
    ga_write_u64(w, m->context.handle);
    ga_write_u32(w, m->context.kind);
    ga_write_u32(w, m->context.flags);
    ga_write_u64(w, m->context.block_bytes);
    ga_write_u32(w, m->takes); /* older clients send zeros here as padding */
    ga_writer_finish(w);
}

enum ga_status handshake_data_hello_read(struct ga_reader *r, struct handshake_data_hello *m)
{
    m->magic = ga_read_u32(r);
    m->major = ga_read_u32(r);
    m->minor = ga_read_u32(r);
    m->kind = ga_read_u32(r);
    m->device = ga_read_u32(r);
    bytes_read(r, m->application, sizeof m->application);
    bytes_read(r, m->id, sizeof m->id);
    bytes_read(r, m->key, sizeof m->key);
    window_values_read(r, &m->window);
    if (m->magic != WIRE_MAGIC || m->major != WIRE_MAJOR || m->kind >= HANDSHAKE_KINDS) {
        return GA_INVALID;
    }
    m->signature_count = tail_read(r) ? ga_read_u32(r) : 0;
    m->signatures = ga_read_array(r, m->signature_count, sizeof *m->signatures, 4);
    m->context = (struct handshake_context){0};
    m->takes = 0;
    if (tail_read(r)) {
        m->context.handle = ga_read_u64(r);
        m->context.kind = ga_read_u32(r);
        m->context.flags = ga_read_u32(r);
        m->context.block_bytes = ga_read_u64(r);
        m->takes = ga_read_u32(r);
    }
    return read_end(r);
}

void handshake_data_welcome_write(struct ga_writer *w, const struct handshake_data_welcome *m)
{
    ga_write_u32(w, m->session);
    window_values_write(w, &m->window);
    tail_write(w);
    ga_write_u32(w, m->lacking_count);
    ga_write_array(w, m->lacking, m->lacking_count, sizeof *m->lacking, 2);
    tail_write(w);
    ga_write_u32(w, m->context_made);
    ga_write_i32(w, m->context_result);
    ga_write_u64(w, m->block_bytes);
    tail_write(w);
    ga_write_u32(w, m->takes);
    tail_write(w);
    ga_write_u64(w, m->client_cache_bytes);
    ga_writer_finish(w);
}

enum ga_status handshake_data_welcome_read(struct ga_reader *r, struct handshake_data_welcome *m)
{
    uint32_t session = ga_read_u32(r);
    m->session = (uint16_t)session;
    window_values_read(r, &m->window);
    m->lacking_count = tail_read(r) ? ga_read_u32(r) : 0;
    m->lacking = ga_read_array(r, m->lacking_count, sizeof *m->lacking, 2);
    bool tail = tail_read(r);
    m->context_made = tail && ga_read_u32(r) != 0;
    m->context_result = tail ? ga_read_i32(r) : 0;
    m->block_bytes = tail ? ga_read_u64(r) : 0;
    m->takes = tail_read(r) ? ga_read_u32(r) : 0;
    m->client_cache_bytes = tail_read(r) ? ga_read_u64(r) : 0;
    return session > UINT16_MAX ? GA_INVALID : read_end(r);
}

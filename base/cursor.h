/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the values of a message.
 *
 * A ga_reader never fails in the middle: reading past the end yields zeros and is remembered, so
 * a decoder checks once, at the end, with ga_reader_done(). A ga_writer remembers in the same
 * way that its buffer was too small. Values are little endian and aligned to their size, so a
 * decoder may lend pointers into the message; a message starts 16-aligned. */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Inlined, because divisions and padding vanish when the caller knows the sizes. */
#define GA_CURSOR_INLINE static inline __attribute__((always_inline))

struct ga_reader {
    const uint8_t *data; /* borrowed, 16-aligned */
    size_t size;
    size_t at;
    bool failed;
};

struct ga_writer {
    uint8_t *data; /* borrowed, 16-aligned */
    size_t size;
    size_t at;
    bool failed;
};

static inline struct ga_reader ga_reader_of(const void *data, size_t size)
{
    return (struct ga_reader){.data = (const uint8_t *)data, .size = size};
}

static inline struct ga_writer ga_writer_of(void *data, size_t size)
{
    return (struct ga_writer){.data = (uint8_t *)data, .size = size};
}

/* Lends `count` elements of `size` bytes inside the message. NULL: there are too few (remembered
 * as a failure), or count is 0. */
GA_CURSOR_INLINE const void *ga_read_array(struct ga_reader *r, size_t count, size_t size,
                                           size_t align)
{
    size_t at = (r->at + align - 1) & ~(align - 1);
    if (r->failed || at > r->size || (size != 0 && count > (r->size - at) / size)) {
        r->failed = true;
        return NULL;
    }
    r->at = at + count * size;
    return count != 0 ? r->data + at : NULL;
}

GA_CURSOR_INLINE void ga_read_into(struct ga_reader *r, void *to, size_t size, size_t align)
{
    const void *from = ga_read_array(r, 1, size, align);
    if (from != NULL) {
        memcpy(to, from, size);
    } else {
        memset(to, 0, size);
    }
}

/* Room for `count` elements inside the message. NULL: there is none (remembered). Padding is
 * zeroed. */
GA_CURSOR_INLINE void *ga_write_room(struct ga_writer *w, size_t count, size_t size, size_t align)
{
    size_t at = (w->at + align - 1) & ~(align - 1);
    if (w->failed || at > w->size || (size != 0 && count > (w->size - at) / size)) {
        w->failed = true;
        return NULL;
    }
    if (at != w->at) {
        memset(w->data + w->at, 0, at - w->at);
    }
    w->at = at + count * size;
    return w->data + at;
}

GA_CURSOR_INLINE void ga_write_array(struct ga_writer *w, const void *from, size_t count,
                                     size_t size, size_t align)
{
    void *to = ga_write_room(w, count, size, align);
    if (to != NULL && count != 0) {
        memcpy(to, from, count * size);
    }
}

/* Accessors of a value: read and write are sequential, get and put are at a position. */
#define GA_VALUE_DEFINE(name, type)                                                                \
    GA_CURSOR_INLINE type ga_read_##name(struct ga_reader *r)                                      \
    {                                                                                              \
        type value;                                                                                \
        ga_read_into(r, &value, sizeof value, sizeof value);                                       \
        return value;                                                                              \
    }                                                                                              \
    GA_CURSOR_INLINE void ga_write_##name(struct ga_writer *w, type value)                         \
    {                                                                                              \
        ga_write_array(w, &value, 1, sizeof value, sizeof value);                                  \
    }                                                                                              \
    GA_CURSOR_INLINE type ga_get_##name(const uint8_t *at)                                         \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, at, sizeof value);                                                          \
        return value;                                                                              \
    }                                                                                              \
    GA_CURSOR_INLINE void ga_put_##name(uint8_t *at, type value)                                   \
    {                                                                                              \
        memcpy(at, &value, sizeof value);                                                          \
    }
GA_VALUE_DEFINE(u8, uint8_t)
GA_VALUE_DEFINE(u16, uint16_t)
GA_VALUE_DEFINE(u32, uint32_t)
GA_VALUE_DEFINE(i32, int32_t)
GA_VALUE_DEFINE(u64, uint64_t)
GA_VALUE_DEFINE(f32, float)
GA_VALUE_DEFINE(f64, double)
#undef GA_VALUE_DEFINE

/* A string: u32 length without the NUL, the bytes, a NUL. Lent. NULL: a failure, or the sender
 * wrote a NULL (length 0xffffffff). More than `most` bytes are a failure. */
static inline const char *ga_read_string(struct ga_reader *r, size_t most)
{
    uint32_t length = ga_read_u32(r);
    if (length == UINT32_MAX) {
        return NULL;
    }
    if (length > most) {
        r->failed = true;
        return NULL;
    }
    const char *text = (const char *)ga_read_array(r, (size_t)length + 1, 1, 1);
    if (text != NULL && (text[length] != 0 || memchr(text, 0, length) != NULL)) {
        r->failed = true;
        return NULL;
    }
    return text;
}

/* NULL is allowed, and is read as NULL. */
static inline void ga_write_string(struct ga_writer *w, const char *text)
{
    if (text == NULL) {
        ga_write_u32(w, UINT32_MAX);
        return;
    }
    size_t length = strlen(text);
    if (length >= UINT32_MAX) {
        w->failed = true;
        return;
    }
    ga_write_u32(w, (uint32_t)length);
    ga_write_array(w, text, length + 1, 1, 1);
}

/* True: nothing was missing, and nothing is left but padding to 16. */
static inline bool ga_reader_done(const struct ga_reader *r)
{
    return !r->failed && ((r->at + 15) & ~(size_t)15) >= r->size;
}

/* Pads with zeros to 16; every message ends so. */
static inline void ga_writer_finish(struct ga_writer *w)
{
    (void)ga_write_room(w, 0, 1, 16);
}

#endif

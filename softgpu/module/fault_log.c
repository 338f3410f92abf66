/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's fault in words: the kind, the line of its source, the thread, and the allocation next
 * to the wrong address. */
#include "softgpu/module/fault_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/process.h"
#include "softgpu/process/report.h"

/* " in vec.cu:12 (PTX line 88)" */
static void say_place(const struct sg_fault *fault, char *text, size_t size)
{
    int used = 0;
    text[0] = '\0';
    if (fault->source[0] != '\0') {
        used = snprintf(text, size, " in %s:%u", fault->source, fault->source_line);
    }
    if (fault->line != 0 && used >= 0 && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, " (PTX line %u)", fault->line);
    }
}

/* Bytes between the address and the range; 0: the address lies in it. */
static uint64_t fault_log_distance(const struct sg_span *span, uint64_t address)
{
    return address < span->base           ? span->base - address
           : address >= sg_span_end(span) ? address - sg_span_end(span) + 1
                                          : 0;
}

/* True: the device may only read there. */
static bool say_nearest(uint64_t address, const struct sg_device *device, char *text, size_t size)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    const struct sg_range *nearest = NULL;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct sg_range *range = (const struct sg_range *)ranges->items[i];
        if (range->rights[device->ordinal] != 0 &&
            (nearest == NULL || fault_log_distance(&range->span, address) <
                                    fault_log_distance(&nearest->span, address))) {
            nearest = range;
        }
    }
    text[0] = '\0';
    const bool inside = nearest != NULL && fault_log_distance(&nearest->span, address) == 0;
    if (inside) {
        snprintf(text, size, ", inside an allocation of %" PRIu64 " bytes at 0x%" PRIx64,
                 nearest->span.bytes, nearest->span.base);
    } else if (nearest != NULL) {
        snprintf(text, size,
                 ", %" PRIu64 " bytes %s the nearest allocation at 0x%" PRIx64 " of %" PRIu64
                 " bytes",
                 fault_log_distance(&nearest->span, address),
                 address < nearest->span.base ? "before" : "after", nearest->span.base,
                 nearest->span.bytes);
    }
    return inside && nearest->rights[device->ordinal] == SG_MAP_READ;
}

static void say_address(const struct sg_fault *fault, const struct sg_device *device, char *text,
                        size_t size)
{
    char nearest[160] = "";
    bool wrong = fault->code == SG_FAULT_ILLEGAL_ADDRESS, only_read = false;
    text[0] = '\0';
    if (wrong && fault->address < SG_WINDOW_SHARED) {
        sg_lock();
        only_read = say_nearest(fault->address, device, nearest, sizeof nearest);
        sg_unlock();
    }
    if (wrong || fault->code == SG_FAULT_MISALIGNED || fault->code == SG_FAULT_HEAP ||
        fault->code == SG_FAULT_INVALID_PC) {
        snprintf(text, size, ": address 0x%" PRIx64 "%s%s", fault->address,
                 only_read                            ? " may only be read"
                 : wrong                              ? " is out of bounds"
                 : fault->code == SG_FAULT_MISALIGNED ? " is misaligned"
                                                      : "",
                 nearest);
    }
}

void sg_fault_log(const struct sg_fault *fault, const struct sg_device *device)
{
    char place[320], address[256];
    say_place(fault, place, sizeof place);
    say_address(fault, device, address, sizeof address);
    sg_tell("kernel %s: %s: %s at %s%s by thread (%u,%u,%u) in block (%u,%u,%u)%s", fault->kernel,
            sg_fault_name(fault->code), fault->text, fault->function, place, fault->thread[0],
            fault->thread[1], fault->thread[2], fault->block[0], fault->block[1], fault->block[2],
            address);
}

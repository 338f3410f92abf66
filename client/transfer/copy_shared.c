/* SPDX-License-Identifier: Apache-2.0 */
/* Copies through memory that a server of this machine maps, or that the network card of another
 * machine reaches. Memory that is itself shared is named in the call; other memory is copied
 * through slots, which one end fills while the other end empties them. */
#include "client/transfer/copy_shared.h"

#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/transfer/bounce_buffers.h"

static CUresult call_begin(struct client_call *call, struct client_buffer_place place,
                           uint64_t device, uint64_t bytes, uint64_t stream, bool in, bool waits)
{
    const struct ga_shared_buffer_in_args to_device = {.dst = device,
                                                       .piece = place.piece,
                                                       .waits = waits ? 1 : 0,
                                                       .offset = place.offset,
                                                       .bytes = bytes,
                                                       .stream = stream};
    const struct ga_shared_buffer_out_args from_device = {.src = device,
                                                          .piece = place.piece,
                                                          .waits = waits ? 1 : 0,
                                                          .offset = place.offset,
                                                          .bytes = bytes,
                                                          .stream = stream};
    call->op = in ? API_OP_ga_shared_buffer_in : API_OP_ga_shared_buffer_out;
    call->lends = in && !waits;
    CUresult rc = client_call_begin(call, in ? ga_shared_buffer_in_args_bound(&to_device)
                                             : ga_shared_buffer_out_args_bound(&from_device));
    if (rc == CUDA_SUCCESS && in) {
        ga_shared_buffer_in_args_write(&call->writer, &to_device);
        client_conn_count_shared(call->conn, bytes, true);
    } else if (rc == CUDA_SUCCESS) {
        ga_shared_buffer_out_args_write(&call->writer, &from_device);
        client_conn_count_shared(call->conn, bytes, false);
    }
    return rc;
}

/* Call after sending: the call's writes into mirrored memory are accounted for. */
static void copy_shared_sent(struct client_call *call, bool in)
{
    if (in && call->mirrors.sent != NULL) {
        call->mirrors.sent(call);
    }
}

static CUresult copy_shared_post(struct client_call *call, const struct reply_action *want, bool in)
{
    CUresult rc = client_call_post_expect(call, want);
    client_conn_flush(call->conn); /* the copy begins now */
    copy_shared_sent(call, in);
    return rc;
}

CUresult client_copy_shared(struct client_call *call, struct client_buffer_place place, void *host,
                            uint64_t device, uint64_t bytes, uint64_t stream, bool in, bool wait)
{
    const struct reply_action want = {.context = call->context->object.handle,
                                      .to = host,
                                      .bytes = bytes,
                                      .width = bytes,
                                      .pitch = bytes,
                                      .reads = in,
                                      .shared = true};
    CUresult rc = call_begin(call, place, device, bytes, stream, in, wait);
    if (rc != CUDA_SUCCESS || !wait) {
        return rc == CUDA_SUCCESS ? copy_shared_post(call, &want, in) : rc;
    }
    struct ga_reader reader;
    rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    copy_shared_sent(call, in);
    return rc;
}

/* ---- slots. Some processors copy many times slower if the target lies up to 63 bytes behind the
 * source, modulo 4096 (transport/tls/tls.h); place_of avoids such pairs. */

static struct client_buffer_place place_of(const struct client_slot *slot, const void *host)
{
    return (struct client_buffer_place){slot->place.piece,
                                        slot->place.offset + client_slot_skew(host)};
}

/* ---- to the device */

static uint64_t part_of(uint64_t bytes)
{
    return bytes < CLIENT_SLOT_BYTES ? bytes : CLIENT_SLOT_BYTES;
}

CUresult client_copy_slots_in(struct client_call *call, uint64_t to, const uint8_t *from,
                              uint64_t bytes, uint64_t stream, uint64_t *copied)
{
    struct client_slot *slot;
    CUresult rc = CUDA_SUCCESS;
    while (*copied < bytes && (slot = client_slot_take(call->context, true)) != NULL) {
        uint64_t part = part_of(bytes - *copied);
        const struct reply_action want = {.context = call->context->object.handle,
                                          .lease = &slot->busy};
        memcpy(slot->memory + client_slot_skew(from), from + *copied, part);
        rc = call_begin(call, place_of(slot, from), to + *copied, part, stream, true, true);
        if (rc != CUDA_SUCCESS) {
            atomic_store(&slot->busy, 0);
            return rc;
        }
        rc = copy_shared_post(call, &want, true);
        if (rc != CUDA_SUCCESS) {
            return rc; /* the connection is lost */
        }
        *copied += part;
    }
    return CUDA_SUCCESS;
}

/* ---- from the device */

struct flight {
    struct client_call call;
    struct client_slot *slot;
    uint64_t bytes;
};

struct flights {
    const uint8_t *to;
    struct flight some[CLIENT_SLOTS];
    unsigned begun, ended;
    uint64_t asked; /* bytes of all that have begun */
};

/* The first flight is half as large, so that emptying slots begins early. */
static uint64_t flight_bytes(const struct flights *flights, uint64_t bytes)
{
    return flights->begun == 0 && bytes > CLIENT_SLOT_BYTES ? CLIENT_SLOT_BYTES / 2
                                                            : part_of(bytes);
}

/* Asks for the next part of the `bytes` at `from`. False: no slot is free, or *rc is an error. */
static bool flight_begin(struct flights *flights, const struct client_call *call, uint64_t from,
                         uint64_t bytes, uint64_t stream, CUresult *rc)
{
    struct flight *flight = &flights->some[flights->begun % CLIENT_SLOTS];
    const struct reply_action want = {.context = call->context->object.handle,
                                      .together = flights->begun != 0};
    flight->slot = client_slot_take(call->context, false);
    if (flight->slot == NULL) {
        return false;
    }
    flight->call = *call;
    flight->bytes = flight_bytes(flights, bytes - flights->asked);
    *rc = call_begin(&flight->call, place_of(flight->slot, flights->to), from + flights->asked,
                     flight->bytes, stream, false, true);
    if (*rc == CUDA_SUCCESS) {
        *rc = client_call_start(&flight->call, &want, NULL, 0);
    }
    if (*rc != CUDA_SUCCESS) {
        atomic_store(&flight->slot->busy, 0);
        return false;
    }
    flights->asked += flight->bytes;
    flights->begun++;
    return true;
}

/* Waits for the oldest flight, and copies its bytes out (`to` NULL: drops them). The last flight
 * alone takes late errors of the context. */
static CUresult flight_end(struct flights *flights, bool last, uint8_t *to)
{
    struct flight *flight = &flights->some[flights->ended++ % CLIENT_SLOTS];
    struct ga_reader reader;
    CUresult rc = client_call_finish(&flight->call, !last, &reader);
    client_call_end(&flight->call);
    if (rc == CUDA_SUCCESS && to != NULL) {
        memcpy(to, flight->slot->memory + client_slot_skew(flights->to), flight->bytes);
    }
    atomic_store(&flight->slot->busy, 0);
    return rc;
}

CUresult client_copy_slots_out(struct client_call *call, uint8_t *to, uint64_t from, uint64_t bytes,
                               uint64_t stream, uint64_t *copied)
{
    struct flights flights = {.to = to};
    CUresult rc = CUDA_SUCCESS;
    for (;;) {
        while (rc == CUDA_SUCCESS && flights.asked < bytes &&
               flights.begun - flights.ended < CLIENT_SLOTS &&
               flight_begin(&flights, call, from, bytes, stream, &rc)) {
        }
        if (flights.begun == flights.ended) {
            return rc;
        }
        const struct flight *oldest = &flights.some[flights.ended % CLIENT_SLOTS];
        uint64_t part = oldest->bytes;
        bool last = *copied + part == bytes;
        call->sequence = oldest->call.sequence;
        CUresult ended = flight_end(&flights, last, rc == CUDA_SUCCESS ? to + *copied : NULL);
        rc = rc == CUDA_SUCCESS ? ended : rc;
        *copied += rc == CUDA_SUCCESS ? part : 0;
    }
}

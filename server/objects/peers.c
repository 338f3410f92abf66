/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/peers.h"

#include <stdlib.h>

#include "server/app/app.h"

struct server_peer {
    struct ga_list link;
    const struct server_context *context, *owner; /* the first may use the second's memory */
};

static CUresult open_range(struct server_app *app, uint64_t address, uint64_t bytes,
                           const struct server_context *by, CUmemAccess_flags flags)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = by->session->real}, .flags = flags};
    return app->driver->cuMemSetAccess(address, bytes, &access, 1);
}

CUresult peer_open(struct server_app *app, const struct server_context *owner, uint64_t address,
                   uint64_t bytes)
{
    CUresult rc = CUDA_SUCCESS;
    ga_list_each (at, next, &app->objects.peers) {
        const struct server_peer *peer = ga_container(at, struct server_peer, link);
        if (rc == CUDA_SUCCESS && peer->owner == owner) {
            rc = open_range(app, address, bytes, peer->context, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
    }
    return rc;
}

bool peer_reaches(const struct server_app *app, const struct server_context *context,
                  const struct server_context *owner)
{
    ga_list_each (at, next, &app->objects.peers) {
        const struct server_peer *peer = ga_container(at, struct server_peer, link);
        if (peer->context == context && peer->owner == owner) {
            return true;
        }
    }
    return false;
}

/* Does another context of the same device reach the same memory? */
static bool shared(const struct server_app *app, const struct server_peer *peer)
{
    ga_list_each (at, next, &app->objects.peers) {
        const struct server_peer *other = ga_container(at, struct server_peer, link);
        if (other != peer && other->owner == peer->owner &&
            other->context->session == peer->context->session) {
            return true;
        }
    }
    return false;
}

static CUresult open_all(struct server_app *app, const struct server_peer *peer,
                         CUmemAccess_flags flags)
{
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < app->ranges.count; i++) {
        const struct range *range = &app->ranges.items[i];
        if (range->mapped && !range->allocated && range->owner == peer->owner) {
            rc = open_range(app, range->base, range->bytes, peer->context, flags);
        }
    }
    return rc;
}

static void peer_end(struct server_app *app, struct server_peer *peer)
{
    if (!shared(app, peer)) {
        (void)open_all(app, peer, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    }
    ga_list_remove(&peer->link);
    free(peer);
}

void peer_drop(struct server_app *app, const struct server_context *context)
{
    ga_list_each (at, next, &app->objects.peers) {
        struct server_peer *peer = ga_container(at, struct server_peer, link);
        if (peer->context == context || peer->owner == context) {
            peer_end(app, peer);
        }
    }
}

CUresult peer_add(struct server_app *app, const struct server_context *owner)
{
    struct server_peer *peer = malloc(sizeof *peer);
    if (peer == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *peer = (struct server_peer){.context = app->current, .owner = owner};
    ga_list_append(&app->objects.peers, &peer->link);
    CUresult rc = open_all(app, peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (rc != CUDA_SUCCESS) {
        peer_end(app, peer);
    }
    return rc;
}

void peer_remove(struct server_app *app, const struct server_context *owner)
{
    ga_list_each (at, next, &app->objects.peers) {
        struct server_peer *peer = ga_container(at, struct server_peer, link);
        if (peer->context == app->current && peer->owner == owner) {
            peer_end(app, peer);
        }
    }
}

void peers_suspend(struct server_app *app)
{
    ga_list_each (at, next, &app->objects.peers) {
        const struct server_peer *peer = ga_container(at, struct server_peer, link);
        (void)app->driver->cuCtxSetCurrent(peer->context->real);
        (void)app->driver->cuCtxDisablePeerAccess(peer->owner->real);
    }
}

CUresult peers_resume(struct server_app *app)
{
    CUresult rc = CUDA_SUCCESS;
    ga_list_each (at, next, &app->objects.peers) {
        const struct server_peer *peer = ga_container(at, struct server_peer, link);
        if (rc == CUDA_SUCCESS) {
            (void)app->driver->cuCtxSetCurrent(peer->context->real);
            rc = app->driver->cuCtxEnablePeerAccess(peer->owner->real, 0);
        }
    }
    return rc;
}

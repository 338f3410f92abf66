/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that pass through a breaking connection unchanged. */
#include "transport/fault/fault_passthrough.h"

enum ga_status fault_send_fd(struct transport_conn *conn, int fd)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->send_fd != NULL ? inner->ops->send_fd(inner, fd) : GA_UNSUPPORTED;
}

enum ga_status fault_receive_fd(struct transport_conn *conn, int *fd)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->receive_fd != NULL ? inner->ops->receive_fd(inner, fd) : GA_UNSUPPORTED;
}

bool fault_begun(const struct transport_conn *conn)
{
    return transport_is_begun(fault_inner(conn));
}

bool fault_identify(const struct transport_conn *conn, struct transport_identity *out)
{
    *out = transport_identify(fault_inner(conn));
    return out->proof != TRANSPORT_PROVES_NOTHING;
}

static enum ga_status through_share(struct transport_conn *conn, void *memory, size_t bytes,
                                    enum transport_use use, struct transport_memory *out)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->one_sided != NULL
               ? inner->ops->one_sided->share(inner, memory, bytes, use, out)
               : GA_UNSUPPORTED;
}

/* Shared memory can always be unshared. */
static void through_unshare(struct transport_conn *conn, struct transport_memory *memory)
{
    struct transport_conn *inner = fault_inner(conn);
    inner->ops->one_sided->unshare(inner, memory);
}

static enum ga_status through_fetch(struct transport_conn *conn,
                                    const struct transport_one_sided_copy *copy)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->one_sided != NULL ? inner->ops->one_sided->fetch(inner, copy)
                                         : GA_UNSUPPORTED;
}

static enum ga_status through_fetched(struct transport_conn *conn, uint64_t *count)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->one_sided != NULL ? inner->ops->one_sided->fetched(inner, count)
                                         : GA_UNSUPPORTED;
}

static enum ga_status through_store(struct transport_conn *conn,
                                    const struct transport_one_sided_copy *copy)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->one_sided != NULL ? inner->ops->one_sided->store(inner, copy)
                                         : GA_UNSUPPORTED;
}

static enum ga_status through_stored(struct transport_conn *conn, uint64_t *count)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->one_sided != NULL ? inner->ops->one_sided->stored(inner, count)
                                         : GA_UNSUPPORTED;
}

const struct transport_one_sided fault_one_sided = {
    .share = through_share,
    .unshare = through_unshare,
    .fetch = through_fetch,
    .fetched = through_fetched,
    .store = through_store,
    .stored = through_stored,
};

/* What passes through a connection that breaks others. */
#include "transport/fault/fault_passthrough.h"

enum ga_status fault_pass(struct transport_conn *conn, int fd)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->pass != NULL ? inner->ops->pass(inner, fd) : GA_UNSUPPORTED;
}

enum ga_status fault_take(struct transport_conn *conn, int *fd)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->take != NULL ? inner->ops->take(inner, fd) : GA_UNSUPPORTED;
}

static enum ga_status through_share(struct transport_conn *conn, void *memory, size_t bytes,
                                    enum transport_use use, struct transport_memory *out)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->reach != NULL ? inner->ops->reach->share(inner, memory, bytes, use, out)
                                     : GA_UNSUPPORTED;
}

/* What has been shared can be unshared. */
static void through_unshare(struct transport_conn *conn, struct transport_memory *memory)
{
    struct transport_conn *inner = fault_inner(conn);
    inner->ops->reach->unshare(inner, memory);
}

static enum ga_status through_fetch(struct transport_conn *conn,
                                    const struct transport_reaching *copy)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->reach != NULL ? inner->ops->reach->fetch(inner, copy) : GA_UNSUPPORTED;
}

static enum ga_status through_fetched(struct transport_conn *conn, uint64_t *count)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->reach != NULL ? inner->ops->reach->fetched(inner, count) : GA_UNSUPPORTED;
}

static enum ga_status through_store(struct transport_conn *conn,
                                    const struct transport_reaching *copy)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->reach != NULL ? inner->ops->reach->store(inner, copy) : GA_UNSUPPORTED;
}

static enum ga_status through_stored(struct transport_conn *conn, uint64_t *count)
{
    struct transport_conn *inner = fault_inner(conn);
    return inner->ops->reach != NULL ? inner->ops->reach->stored(inner, count) : GA_UNSUPPORTED;
}

const struct transport_reach fault_reach = {
    .share = through_share,
    .unshare = through_unshare,
    .fetch = through_fetch,
    .fetched = through_fetched,
    .store = through_store,
    .stored = through_stored,
};

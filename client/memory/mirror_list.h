/* What mirror.c and mirror_sync.c share. */
#ifndef CLIENT_MEMORY_MIRROR_LIST_H
#define CLIENT_MEMORY_MIRROR_LIST_H

#include <pthread.h>

#include "client/call/state.h"
#include "client/memory/mirror.h"

/* Two locks. Who makes twins of a link's devices equal holds that link's twins_lock, also while it
 * waits for the server, so that a server that is silent stops nobody but those who use it; it is of
 * what twins of that link agree on and are used by, and none of them ends without it. The list, and
 * what says where a twin lies, is under client_twin_lock, which nobody waits with, and which is
 * taken second. Nothing that answers calls wants either. */
extern pthread_mutex_t client_twin_lock;
extern struct client_twin *client_twin_list;

/* Whether devices of the session use it. */
static inline bool client_twin_of(const struct client_twin *twin,
                                  const struct client_session *session)
{
    return twin->session == session ||
           (twin->physical != NULL && twin->session->link == session->link);
}

/* The next one that devices of the session use; `after` NULL: the first. With the link's lock. */
struct client_twin *client_twin_next(const struct client_session *session,
                                     const struct client_twin *after);

/* Fills the device's copy with zeros. */
CUresult client_twin_clear(struct client_context *context, const struct client_twin *twin);

/* Fetches what the device has; the program gets it, too, if it has nothing yet. */
CUresult client_twin_read(struct client_context *context, struct client_twin *twin, bool show);

#endif

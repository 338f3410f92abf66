/* What mirror.c and mirror_sync.c share. */
#ifndef CLIENT_MEMORY_MIRROR_LIST_H
#define CLIENT_MEMORY_MIRROR_LIST_H

#include <pthread.h>

#include "client/call/state.h"
#include "client/memory/mirror.h"

/* Two locks. Who makes mirrors of a connection's devices equal holds that connection's
 * mirrors_lock, also while it waits for the server, so that a server that is silent stops nobody
 * but those who use it; it is of what mirrors of that connection agree on and are used by, and none
 * of them ends without it. The list, and what says where a mirror lies, is under
 * client_mirror_lock, which nobody waits with, and which is taken second. Nothing that answers
 * calls wants either. */
extern pthread_mutex_t client_mirror_lock;
extern struct client_mirror *client_mirror_list;

/* Whether devices of the session use it. */
static inline bool client_mirror_of(const struct client_mirror *mirror,
                                    const struct client_session *session)
{
    return mirror->session == session ||
           (mirror->physical != NULL && mirror->session->conn == session->conn);
}

/* The next one that devices of the session use; `after` NULL: the first. With the connection's
 * lock. */
struct client_mirror *client_mirror_next(const struct client_session *session,
                                         const struct client_mirror *after);

/* Fills the device's copy with zeros. */
CUresult client_mirror_clear(struct client_context *context, const struct client_mirror *mirror);

/* Fetches what the device has; the program gets it, too, if it has nothing yet. */
CUresult client_mirror_read(struct client_context *context, struct client_mirror *mirror,
                            bool show);

#endif

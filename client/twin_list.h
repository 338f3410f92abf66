/* What twin.c and twin_sync.c share. */
#ifndef CLIENT_TWIN_LIST_H
#define CLIENT_TWIN_LIST_H

#include <pthread.h>

#include "client/state.h"
#include "client/twin.h"

/* Held while twins are made equal, which waits for the server: nothing that answers calls wants it.
 */
extern pthread_mutex_t client_twin_lock;
extern struct client_twin *client_twin_list;

/* Whether devices of the session use it. */
static inline bool client_twin_of(const struct client_twin *twin,
                                  const struct client_session *session)
{
    return twin->session == session ||
           (twin->physical != NULL && twin->session->link == session->link);
}

/* Fills the device's copy with zeros. */
CUresult client_twin_clear(struct client_context *context, const struct client_twin *twin);

/* Fetches what the device has; the program gets it, too, if it has nothing yet. */
CUresult client_twin_read(struct client_context *context, struct client_twin *twin, bool show);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The list of mirrors and its locks, which mirror.c and mirror_sync.c share. */
#ifndef CLIENT_MEMORY_MIRROR_LIST_H
#define CLIENT_MEMORY_MIRROR_LIST_H

#include <pthread.h>

#include "client/context/context.h"
#include "client/memory/mirror.h"
#include "client/session/session.h"

/* Two locks; code that processes replies may take neither of them.
 * mirrors_lock of a connection is taken first. It guards the base copies and the uses of the
 * mirrors of that connection's devices; a mirror ends only under it. It is held across round trips
 * while mirrors are made equal, so a silent server stops only threads that use it.
 * client_mirror_lock is taken second and never held across a wait. It guards the list, and a mirror
 * leaves the address map only under it. */
extern pthread_mutex_t client_mirror_lock;
extern struct ga_list client_mirror_list; /* the newest first */

static inline struct client_mirror *client_mirror_in(struct ga_list *in_list)
{
    return ga_container(in_list, struct client_mirror, in_list);
}

/* Whether devices of the session use the mirror. */
static inline bool client_mirror_of(const struct client_mirror *mirror,
                                    const struct client_session *session)
{
    return mirror->session == session ||
           (mirror->physical != NULL &&
            client_session_conn(mirror->session) == client_session_conn(session));
}

/* Puts a mirror into the list and the address map. False: no memory. */
bool client_mirror_enter(struct client_mirror *mirror);
/* Takes it out of both; with client_mirror_lock. */
void client_mirror_leave(struct client_mirror *mirror);

/* The next mirror that devices of the session use; `after` NULL: the first. Under the connection's
 * mirrors_lock. */
struct client_mirror *client_mirror_next(const struct client_session *session,
                                         const struct client_mirror *after);

#endif

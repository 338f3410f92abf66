/* Cached device memory goes back when another application runs out. */
#ifndef CLIENT_MEMORY_RECLAIM_H
#define CLIENT_MEMORY_RECLAIM_H

#include <stdbool.h>

struct client_conn;
struct client_session;

/* It goes back, in a thread of its own. */
void client_trim_begin(struct client_conn *conn);
/* Others are asked to give back what they keep; step by step more time passes. False: they have. */
bool client_trim_others(const struct client_session *session, unsigned step);

#endif

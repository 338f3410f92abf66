/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation: applications are looked at again when the store has changed. One whose right has
 * ended is ended; the others get the terms of their tenants and users as they are now. */
#ifndef SERVER_APPLICATIONS_REVOCATION_H
#define SERVER_APPLICATIONS_REVOCATION_H

#include "server/access/access.h"

/* `changed` of a struct access_watcher. */
enum ga_status revocation_look(struct access_watcher *watcher);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The door of monitoring (server/monitoring/http.h), as far as others count with it. */
#ifndef SERVER_CONTROL_HTTP_DOOR_H
#define SERVER_CONTROL_HTTP_DOOR_H

#define HTTP_PORT        "9954" /* where none is given */
#define HTTP_CONNECTIONS 64u    /* more, and one of those that have most must go */

#endif

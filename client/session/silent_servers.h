/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that have not answered in time within the last minute: those that this process has waited
 * for, and, in files, those that programs of the same user on this machine have waited for. Nobody
 * waits as long for them again, where that costs nothing (see servers.c).
 *
 * The files lie in $XDG_RUNTIME_DIR/gpuaas, or else in /tmp/gpuaas-UID. They are empty; the name is
 * a hash of the server's address, the time of the last change is when it was found to be silent.
 * Nothing is read or written where somebody else might have put it: the folder must be a folder of
 * this user that nobody else can change, and no symbolic link is followed. Without it, only this
 * process remembers. */
#ifndef CLIENT_SESSION_SILENT_SERVERS_H
#define CLIENT_SESSION_SILENT_SERVERS_H

#include <stdbool.h>

#define SILENT_SERVER_S 60

/* `address`: as given in GPUAAS_SERVERS. All is done by cuInit, or while the caller has the lock of
 * the server. */
void client_silent_servers_add(const char *address);
/* The server has answered. */
void client_silent_servers_forget(const char *address);
/* This process has waited for it. */
bool client_silent_servers_here(const char *address);
/* Somebody has. */
bool client_silent_servers_anywhere(const char *address);

#endif

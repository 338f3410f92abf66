/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to gpuaasd, by --server: its admin socket on this machine, or TLS with the
 * certificate of an administrator. One connection serves all requests of a command. Functions write
 * the reason of a failure into `why`. */
#ifndef CTL_LINK_H
#define CTL_LINK_H

#include "ctl/ctl.h"
#include "transport/transport.h"

/* Connects, if it is not connected, and gives the next request --timeout seconds from now on. */
enum admin_code ctl_link_begin(const struct ctl_line *line, char *why, size_t why_size);
void ctl_link_end(void);
/* Sends bytes. If they cannot be sent, an answer may say why: that is no error here. */
enum admin_code ctl_link_send(const char *bytes, size_t size, char *why, size_t why_size);
/* Receives a line of `size` bytes without its newline, lent until the next call, also to be
 * changed. */
enum admin_code ctl_link_receive_line(char **text, size_t *size, char *why, size_t why_size);

/* Bytes of the first line, which have come together with the end of what was before it; false: no
 * memory. */
bool ctl_link_keep(const void *bytes, size_t size);

/* ---- link_open.c */

/* Connects within `timeout_ms`; the other end has said that this is the place for requests. */
enum admin_code ctl_link_open(const struct ctl_line *line, unsigned timeout_ms,
                              struct transport_conn *out, char *why, size_t why_size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of requests and replies, which is wiped when it is given back: a reply may hold the
 * secret of a token, of which nothing stays in gpuaasd. */
#ifndef SERVER_ADMIN_ADMIN_MEMORY_H
#define SERVER_ADMIN_ADMIN_MEMORY_H

/* From now on jansson's memory, texts of json_dumps among it, is wiped when jansson frees it. Once,
 * before there are threads. */
void admin_memory_begin(void);
/* free() for what malloc or jansson has made; NULL is allowed. */
void admin_memory_free(void *memory);

#endif

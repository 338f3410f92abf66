/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of copies to the host leave: COMPLETER_DATA and COMPLETER_STORE, done or failed. `frames`:
 * the pool of the calling thread. */
#ifndef SERVER_CONN_COPY_CHUNKS_H
#define SERVER_CONN_COPY_CHUNKS_H

struct completer;
struct completer_entry;
struct ga_pool;

void copy_chunk_send(struct completer *completer, struct ga_pool *frames,
                     const struct completer_entry *entry);
void copy_chunk_store(struct completer *completer, struct ga_pool *frames,
                      const struct completer_entry *entry);

#endif

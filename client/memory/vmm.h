/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is mapped at addresses outside of all windows: the calls to the server, and what
 * vmm.c and vmm_map.c share. */
#ifndef CLIENT_MEMORY_VMM_H
#define CLIENT_MEMORY_VMM_H

#include "client/memory/mappings.h"

extern const struct client_object_type client_physical_type;

/* Lock and unlock the program's reservations, memory and mappings for one call. They need no
 * current context; if there is one and its connection is lost, client_vmm_enter returns that error.
 */
CUresult client_vmm_enter(void);
/* Returns `rc`. */
CUresult client_vmm_leave(CUresult rc);
/* NULL: there is no such handle (any more). */
struct client_physical *client_vmm_find(CUmemGenericAllocationHandle handle);
/* Frees the memory if no handle and no mapping holds it any more. */
void client_vmm_drop(struct client_physical *physical);

/* Makes a record on the client alone; no handle and no mapping holds it yet. NULL: no memory. */
struct client_physical *client_vmm_make(struct client_device *device,
                                        struct client_session *session, uint64_t bytes);
/* For memory without handles and mappings. True: an exported descriptor still holds it
 * (vmm_share.c). */
bool client_vmm_lingers(struct client_physical *physical);
/* Free lingering memory that no descriptor holds any more: inside enter and leave; and on its own,
 * when memory has run out or is counted. */
void client_vmm_sweep(void);
void client_vmm_relieve(void);

/* ---- each is one round trip; the caller keeps the tables. */

/* Allocates memory of a device; the owner ends it with client_vmm_drop. */
CUresult client_vmm_memory(CUdevice device, uint64_t bytes, struct client_physical **out);
/* Maps its first bytes at `start`, in the reservation of `space_bytes` from `space` on. */
CUresult client_vmm_map(struct client_physical *physical, uint64_t start, uint64_t bytes,
                        uint64_t space, uint64_t space_bytes);
CUresult client_vmm_unmap(struct client_session *session, uint64_t start, uint64_t bytes);
/* Sets a device's access to whole mappings. CUDA_ERROR_NOT_SUPPORTED: it is of another server. */
CUresult client_vmm_allow(struct client_session *session, uint64_t start, uint64_t bytes,
                          CUdevice device, CUmemAccess_flags flags);
/* Ends the server's reservation of these addresses. */
void client_vmm_release(struct client_session *session, uint64_t space, uint64_t space_bytes);

#endif

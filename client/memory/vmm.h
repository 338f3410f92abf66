/* Memory that is mapped at addresses outside of all windows: what travels for it. And what vmm.c
 * and vmm_map.c share. */
#ifndef CLIENT_MEMORY_VMM_H
#define CLIENT_MEMORY_VMM_H

#include "client/memory/mappings.h"

/* Between these two a call has the program's reservations, memory and mappings to itself. No
 * current context is needed; one whose connection is lost says so. */
CUresult client_vmm_enter(void);
/* Answers `rc`. */
CUresult client_vmm_leave(CUresult rc);
/* NULL: nobody has such a handle (any more). */
struct client_physical *client_vmm_find(CUmemGenericAllocationHandle handle);
/* Memory goes with the last that holds it, if that was it. */
void client_vmm_drop(struct client_physical *physical);

/* Known on the client alone: no handle and no mapping holds it yet. NULL: no memory. */
struct client_physical *client_vmm_make(struct client_device *device,
                                        struct client_session *session, uint64_t bytes);
/* It has no handle and no mapping any more. True: a descriptor still holds it (vmm_share.c). */
bool client_vmm_lingers(struct client_physical *physical);
/* What lingers and need not goes; and the same by itself, when memory is used up or counted. */
void client_vmm_sweep(void);
void client_vmm_relieve(void);

/* ---- each is one question; the books are the caller's. */

/* Memory of a device; who has it ends it with client_vmm_drop. */
CUresult client_vmm_memory(CUdevice device, uint64_t bytes, struct client_physical **out);
/* Maps its first bytes at `start`, in the reservation of `space_bytes` from `space` on. */
CUresult client_vmm_map(struct client_physical *physical, uint64_t start, uint64_t bytes,
                        uint64_t space, uint64_t space_bytes);
CUresult client_vmm_unmap(struct client_session *session, uint64_t start, uint64_t bytes);
/* What a device may do with whole mappings. CUDA_ERROR_NOT_SUPPORTED: it is of another server. */
CUresult client_vmm_allow(struct client_session *session, uint64_t start, uint64_t bytes,
                          CUdevice device, CUmemAccess_flags flags);
/* Its server may reserve these addresses for something else. */
void client_vmm_release(struct client_session *session, uint64_t space, uint64_t space_bytes);

#endif

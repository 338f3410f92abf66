/* What vmm.c and vmm_map.c share. */
#ifndef CLIENT_VMM_H
#define CLIENT_VMM_H

#include "client/mappings.h"

/* Between these two a call has the program's reservations, memory and mappings to itself. No
 * current context is needed; one whose link is lost says so. */
CUresult client_vmm_enter(void);
/* Answers `rc`. */
CUresult client_vmm_leave(CUresult rc);
/* NULL: nobody has such a handle (any more). */
struct client_physical *client_vmm_find(CUmemGenericAllocationHandle handle);
/* Memory goes with the last that holds it, if that was it. */
void client_vmm_drop(struct client_physical *physical);

#endif

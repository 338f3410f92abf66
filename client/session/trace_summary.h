/* SPDX-License-Identifier: Apache-2.0 */
/* GPUAAS_TRACE: the devices that were used, what travelled, and how long calls waited. */
#ifndef CLIENT_SESSION_TRACE_SUMMARY_H
#define CLIENT_SESSION_TRACE_SUMMARY_H

/* On stderr, once; nothing if the program is not traced. */
void client_trace_summary(void);

#endif

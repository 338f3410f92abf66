/* What `gpuaas` asks the client library about devices. */
#ifndef CMD_DEVICES_H
#define CMD_DEVICES_H

#include <stdbool.h>

/* Prints the devices that a program would see, a line each. `library`: path of the client's
 * libcuda.so.1. The exit status; what is wrong is said on stderr. */
int gpuaas_devices_print(const char *library);
/* There are devices, and all of them run PTX alone. False also when no server answers: the program
 * will say so. */
bool gpuaas_devices_ptx_only(const char *library);

#endif

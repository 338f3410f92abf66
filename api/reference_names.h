/* SPDX-License-Identifier: Apache-2.0 */
/* The names of texture and surface references of a PTX module (.texref, .surfref). On software
 * GPUs a reference is a variable of the module, of 8 bytes, that holds the handle of the bound
 * texture or surface object, initially 0. cuModuleGetGlobal finds it by one of these words and
 * its name; no other variable has a space in its name. */
#ifndef API_REFERENCE_NAMES_H
#define API_REFERENCE_NAMES_H

#define API_TEXREF_NAME  "texref "
#define API_SURFREF_NAME "surfref "

#endif

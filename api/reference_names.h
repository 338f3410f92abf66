/* SPDX-License-Identifier: Apache-2.0 */
/* How a texture or surface reference of a PTX module (.texref, .surfref) is found by whoever binds
 * it: on software GPUs it is a variable of the module, of 8 bytes, that holds the handle of the
 * texture or surface object which it is bound to, 0 at first. cuModuleGetGlobal finds it by these
 * words and its name; variables of other kinds have no space in theirs. */
#ifndef API_REFERENCE_NAMES_H
#define API_REFERENCE_NAMES_H

#define API_TEXREF_NAME  "texref "
#define API_SURFREF_NAME "surfref "

#endif

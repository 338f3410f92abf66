/* What the program's author must read: errors of the program itself. */
#ifndef SG_TELL_H
#define SG_TELL_H

/* An error line where the program has its stderr. Where this process has put something else in the
 * place of stderr (a backend process has: it sends on what is written there) the line goes there.
 */
void sg_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

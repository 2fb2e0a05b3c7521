/* What the sources of the extension share: the fields of a direction, and the functions that are used across
 * files. Nothing of it is visible outside the extension. */

#ifndef FAULTKIT_PROXY_NATIVE_H
#define FAULTKIT_PROXY_NATIVE_H

#pragma GCC visibility push(hidden)

/* The values of epoll's flags, as in event_loop.py. */
#define READABLE 0x1
#define WRITABLE 0x4
#define FAILED 0x8
#define ENDED 0x2010

#define BUFFER_SIZE 262144

/* One loop runs in a thread, but a process may have several loops. The lock of the interpreter is held
 * from the read into this buffer to the last use of it. */
extern char buffer[BUFFER_SIZE];

typedef struct {
    PyObject_HEAD
    PyObject *link, *services, *mode, *out, *pipe_queue, *near_chain, *far_chain, *gate, *straight, *whole;
    double timer_at, paced_at;
    Py_ssize_t moved, out_bytes, reported_bytes;
    int source, target, ending, big_reads;
    char readable, writable, end_sent, queued, direct;
    char has_native_link; /* The link is one of _native_link.c. */
} Fields;

static inline int is_none(PyObject *object) { return object == NULL || object == Py_None; }

/* In _native.c. Functions that return int return -1 with an exception set, unless said otherwise. */
double monotonic(void);
int call_method(PyObject *self, PyObject *name);
int call_method_with(PyObject *self, PyObject *name, PyObject *argument);
Py_ssize_t take(int source, Py_ssize_t size);
Py_ssize_t give(int target, const char *bytes, Py_ssize_t size);
void fill_direction(Fields *f, PyObject *link, PyObject *services, int direct);
void shut_direction(Fields *f);
PyObject *ready_of(Fields *f);
int pump(Fields *f);
int report_failure(PyObject *loop, PyObject *on_failure);

/* In _native_sockets.c: descriptors, or -1 with errno. */
int accept_on(int listener);
int connect_to(int family, const char *address, Py_ssize_t size);
int has_peer(int fd);
void close_socket_by_reset(int fd);
extern PyMethodDef native_socket_methods[];

/* In _native_link.c. */
int is_native_link(PyObject *link);
int link_event(Fields *reading, int flags);
int end_link_by_reset(PyObject *link);
int forward_end(Fields *f);
int add_link_types(PyObject *module);

#pragma GCC visibility pop

#endif

/* How a connection begins and ends where no rule acts and no layer is needed: the hot paths of `proxy` and `link`.
 *
 * `LinkFields` has the fields of `link_fields.LinkFields`. `Acceptor` does what `Proxy._accept`, `Link.begin` and
 * `Link._send_first_bytes` do for all clients of a round. `link_event` is `Link.socket_event`; `end_link` is
 * `Link._end`, without what the common case does not have. Everything else is left to those methods. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <structmember.h>

#include "_native.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_BYTES 65536
#define MOST_ADDRESS 32

/* What `configure_links` was given. */
static PyObject *link_class, *direction_class;
static PyTypeObject *link_fields;

#define NAMES(X)                                                                                             \
    X(_await_upstream) X(_connect_failed) X(_end) X(_send_first_bytes) X(abort) X(call_soon) X(clock)         \
    X(forget) X(handlers) X(has_direct_clock) X(loop) X(observed) X(send_first) X(services) X(spares_hosts)
#define DECLARE(name) static PyObject *s_##name;
NAMES(DECLARE)

/* --- fields of a link -------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *proxy, *services, *up, *down, *layer, *hits, *delayed, *dial, *dial_target, *stalled;
    double opened_at;
    Py_ssize_t ordinal, dial_number;
    int client, upstream;
    char dead, exempt, client_exempt, client_watched;
} Link;

static PyMemberDef link_members[] = {
    {"proxy", T_OBJECT, offsetof(Link, proxy), 0, NULL},
    {"_services", T_OBJECT, offsetof(Link, services), 0, NULL},
    {"up", T_OBJECT_EX, offsetof(Link, up), 0, NULL},
    {"down", T_OBJECT_EX, offsetof(Link, down), 0, NULL},
    {"layer", T_OBJECT, offsetof(Link, layer), 0, NULL},
    {"hits", T_OBJECT, offsetof(Link, hits), 0, NULL},
    {"_delayed", T_OBJECT, offsetof(Link, delayed), 0, NULL},
    {"_dial", T_OBJECT, offsetof(Link, dial), 0, NULL},
    {"_dial_target", T_OBJECT, offsetof(Link, dial_target), 0, NULL},
    {"_stalled", T_OBJECT, offsetof(Link, stalled), 0, NULL},
    {"opened_at", T_DOUBLE, offsetof(Link, opened_at), 0, NULL},
    {"ordinal", T_PYSSIZET, offsetof(Link, ordinal), 0, NULL},
    {"_dial_number", T_PYSSIZET, offsetof(Link, dial_number), 0, NULL},
    {"client", T_INT, offsetof(Link, client), 0, NULL},
    {"upstream", T_INT, offsetof(Link, upstream), 0, NULL},
    {"dead", T_BOOL, offsetof(Link, dead), 0, NULL},
    {"exempt", T_BOOL, offsetof(Link, exempt), 0, NULL},
    {"client_exempt", T_BOOL, offsetof(Link, client_exempt), 0, NULL},
    {"_client_watched", T_BOOL, offsetof(Link, client_watched), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

int is_native_link(PyObject *link) { return PyType_IsSubtype(Py_TYPE(link), link_fields); }

static PyObject *new_direction(Link *link, int source, int target, int direct)
{
    PyTypeObject *type = (PyTypeObject *)direction_class;
    Fields *f = (Fields *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (f == NULL)
        return NULL;
    f->source = source;
    f->target = target;
    fill_direction(f, (PyObject *)link, link->services, direct);
    return (PyObject *)f;
}

/* As PureLinkFields.__init__, once the fields that are not objects are set. */
static int fill_link(Link *link, PyObject *proxy, PyObject *services, int direct)
{
    Py_INCREF(proxy);
    link->proxy = proxy;
    Py_INCREF(services);
    link->services = services;
    link->upstream = -1;
    link->up = new_direction(link, link->client, -1, direct);
    link->down = new_direction(link, -1, link->client, direct);
    return link->up == NULL || link->down == NULL ? -1 : 0;
}

static int link_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Link *link = (Link *)self;
    PyObject *proxy;
    (void)kwargs;
    if (link->proxy != NULL || direction_class == NULL) {
        PyErr_SetString(PyExc_TypeError, "a link is initialised once, after configure_links");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "Oin", &proxy, &link->client, &link->ordinal))
        return -1;
    int failed = -1;
    PyObject *services = PyObject_GetAttr(proxy, s_services), *spares = NULL, *direct = NULL, *loop = NULL, *now = NULL;
    if (services != NULL && (spares = PyObject_GetAttr(proxy, s_spares_hosts)) != NULL &&
        (direct = PyObject_GetAttr(services, s_has_direct_clock)) != NULL &&
        (loop = PyObject_GetAttr(services, s_loop)) != NULL &&
        (now = PyObject_CallMethodObjArgs(loop, s_clock, NULL)) != NULL) {
        link->client_exempt = spares == Py_True;
        link->opened_at = PyFloat_AsDouble(now);
        failed = PyErr_Occurred() ? -1 : fill_link(link, proxy, services, direct == Py_True);
    }
    Py_XDECREF(services);
    Py_XDECREF(spares);
    Py_XDECREF(direct);
    Py_XDECREF(loop);
    Py_XDECREF(now);
    return failed;
}

static int link_traverse(PyObject *self, visitproc visit, void *arg)
{
    Link *link = (Link *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(link->proxy);
    Py_VISIT(link->services);
    Py_VISIT(link->up);
    Py_VISIT(link->down);
    Py_VISIT(link->layer);
    Py_VISIT(link->hits);
    Py_VISIT(link->delayed);
    Py_VISIT(link->dial);
    Py_VISIT(link->dial_target);
    Py_VISIT(link->stalled);
    return 0;
}

static int link_clear(PyObject *self)
{
    Link *link = (Link *)self;
    Py_CLEAR(link->proxy);
    Py_CLEAR(link->services);
    Py_CLEAR(link->up);
    Py_CLEAR(link->down);
    Py_CLEAR(link->layer);
    Py_CLEAR(link->hits);
    Py_CLEAR(link->delayed);
    Py_CLEAR(link->dial);
    Py_CLEAR(link->dial_target);
    Py_CLEAR(link->stalled);
    return 0;
}

static void link_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    link_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot link_slots[] = {
    {Py_tp_doc, "The fields of a link."},
    {Py_tp_init, link_init},
    {Py_tp_members, link_members},
    {Py_tp_traverse, link_traverse},
    {Py_tp_clear, link_clear},
    {Py_tp_dealloc, link_dealloc},
    {0, NULL},
};

static PyType_Spec link_spec = {
    "faultkit.proxy._native.LinkFields",
    sizeof(Link),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    link_slots,
};

/* --- the end of a link ------------------------------------------------------------------------------- */

static int is_plain(Fields *f) { return is_none(f->near_chain) && is_none(f->pipe_queue); }

static int is_observed(Link *link)
{
    PyObject *observed = PyObject_GetAttr(link->services, s_observed);
    if (observed == NULL)
        return -1;
    Py_DECREF(observed);
    return observed != Py_False;
}

static PyObject *handlers_of(PyObject *services)
{
    PyObject *loop = PyObject_GetAttr(services, s_loop);
    PyObject *handlers = loop == NULL ? NULL : PyObject_GetAttr(loop, s_handlers);
    Py_XDECREF(loop);
    return handlers;
}

/* Close a socket, by RST or as it is, and forget its handler. epoll forgets a closed descriptor by itself. */
static void close_end(PyObject *handlers, int fd, int by_reset)
{
    PyObject *key = PyLong_FromLong(fd);
    if (key == NULL || PyDict_DelItem(handlers, key) < 0)
        PyErr_Clear();
    Py_XDECREF(key);
    if (by_reset)
        close_socket_by_reset(fd);
    else
        close(fd);
}

static int end_in_python(Link *link, int by_reset)
{
    PyObject *words = Py_BuildValue("ss", by_reset ? "reset" : "end", by_reset ? "reset" : "none");
    PyObject *method = words == NULL ? NULL : PyObject_GetAttr((PyObject *)link, s__end);
    PyObject *result = method == NULL ? NULL : PyObject_CallObject(method, words);
    Py_XDECREF(words);
    Py_XDECREF(method);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* As Link._end. The directions are released: the caller must own what it uses afterwards. */
static int end_link(Link *link, int by_reset)
{
    if (link->dead)
        return 0;
    Fields *up = (Fields *)link->up, *down = (Fields *)link->down;
    int observed = is_observed(link);
    if (observed < 0)
        return -1;
    if (observed || !is_none(link->delayed) || !is_none(link->dial) || !is_none(link->layer) || !is_plain(up) ||
        !is_plain(down))
        return end_in_python(link, by_reset);
    PyObject *handlers = handlers_of(link->services);
    if (handlers == NULL)
        return -1;
    link->dead = 1;
    shut_direction(up);
    shut_direction(down);
    /* A socket that has failed needs neither RST nor FIN, nor does one that has sent and received its own. */
    close_end(handlers, link->client, by_reset && !(up->ending & FAILED));
    if (link->upstream >= 0)
        close_end(handlers, link->upstream, by_reset && !(down->ending & FAILED));
    Py_DECREF(handlers);
    PyObject *forget = PyObject_GetAttr(link->proxy, s_forget);
    PyObject *result =
        forget == NULL ? NULL : PyObject_CallFunction(forget, "nnn", link->ordinal, up->moved, down->moved);
    Py_XDECREF(forget);
    Py_XDECREF(result);
    /* Break the reference cycles, so that the memory is free at once. */
    Py_CLEAR(link->up);
    Py_CLEAR(link->down);
    return result == NULL ? -1 : 0;
}

static int end_owned(PyObject *link, int by_reset)
{
    Py_INCREF(link);
    int failed = end_link((Link *)link, by_reset);
    Py_DECREF(link);
    return failed;
}

int end_link_by_reset(PyObject *link) { return end_owned(link, 1); }

/* Pass on the end of a source that was copied, as Direction._end_of_source. Nothing waits for the target. */
int forward_end(Fields *f)
{
    Link *link = (Link *)f->link;
    f->readable = 0;
    if (f->end_sent)
        return 0;
    f->end_sent = 1;
    if (((Fields *)link->up)->end_sent && ((Fields *)link->down)->end_sent)
        return end_owned((PyObject *)link, 0);
    shutdown(f->target, SHUT_WR); /* An error is ignored: the socket has failed then. */
    return 0;
}

/* --- events ------------------------------------------------------------------------------------------- */

static int has_unread(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) < 0 || bytes > 0;
}

static int make_writable(Fields *writing)
{
    if (writing->writable)
        return 0;
    writing->writable = 1;
    return pump(writing);
}

static int handle_flags(Link *link, Fields *reading, Fields *writing, int flags)
{
    if (!(flags & (READABLE | ENDED | FAILED)))
        return make_writable(writing);
    reading->readable = 1;
    if (flags & (ENDED | FAILED)) {
        reading->ending |= flags & (ENDED | FAILED);
        if (flags & FAILED && is_none(reading->near_chain) && is_none(reading->out) && !has_unread(reading->source))
            return end_link(link, 1);
    }
    if (flags & WRITABLE && make_writable(writing) < 0)
        return -1;
    if (link->dead)
        return 0;
    if (pump(reading) < 0)
        return -1;
    /* The client's bytes wait for a slow upstream, but the upstream must see the reset at once. */
    if (flags & FAILED && !link->dead && (PyObject *)reading == link->up && reading->out_bytes)
        return end_link(link, 1);
    return 0;
}

/* As Link.socket_event. */
int link_event(Fields *reading, int flags)
{
    Link *link = (Link *)reading->link;
    if (link->dead)
        return 0;
    PyObject *writing = (PyObject *)reading == link->up ? link->down : link->up;
    PyObject *used[] = {(PyObject *)link, (PyObject *)reading, writing};
    for (int index = 0; index < 3; index++)
        Py_INCREF(used[index]);
    int failed = handle_flags(link, reading, (Fields *)writing, flags);
    for (int index = 0; index < 3; index++)
        Py_DECREF(used[index]);
    return failed;
}

/* --- new clients --------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *proxy, *services, *loop, *links, *handlers, *awaiting_output, *pending;
    Py_ssize_t address_size;
    int epoll, family;
    char address[MOST_ADDRESS];
} Acceptor;

static int acceptor_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Acceptor *a = (Acceptor *)self;
    PyObject *proxy, *links, *loop, *awaiting_output;
    const char *address;
    (void)kwargs;
    if (a->proxy != NULL || direction_class == NULL) {
        PyErr_SetString(PyExc_TypeError, "an acceptor is initialised once, after configure_links");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OO!OiO!iy#", &proxy, &PyDict_Type, &links, &loop, &a->epoll, &PySet_Type,
                          &awaiting_output, &a->family, &address, &a->address_size))
        return -1;
    if (a->address_size > MOST_ADDRESS) {
        PyErr_SetString(PyExc_ValueError, "address: expected a packed one");
        return -1;
    }
    memcpy(a->address, address, (size_t)a->address_size);
    if ((a->services = PyObject_GetAttr(proxy, s_services)) == NULL ||
        (a->handlers = PyObject_GetAttr(loop, s_handlers)) == NULL || (a->pending = PyList_New(0)) == NULL)
        return -1;
    PyObject **kept[] = {&a->proxy, &a->links, &a->loop, &a->awaiting_output};
    PyObject *given[] = {proxy, links, loop, awaiting_output};
    for (int index = 0; index < 4; index++) {
        Py_INCREF(given[index]);
        *kept[index] = given[index];
    }
    return 0;
}

static int acceptor_traverse(PyObject *self, visitproc visit, void *arg)
{
    Acceptor *a = (Acceptor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(a->proxy);
    Py_VISIT(a->services);
    Py_VISIT(a->loop);
    Py_VISIT(a->links);
    Py_VISIT(a->handlers);
    Py_VISIT(a->awaiting_output);
    Py_VISIT(a->pending);
    return 0;
}

static int acceptor_clear(PyObject *self)
{
    Acceptor *a = (Acceptor *)self;
    Py_CLEAR(a->proxy);
    Py_CLEAR(a->services);
    Py_CLEAR(a->loop);
    Py_CLEAR(a->links);
    Py_CLEAR(a->handlers);
    Py_CLEAR(a->awaiting_output);
    Py_CLEAR(a->pending);
    return 0;
}

static void acceptor_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    acceptor_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Give what a link has raised to the loop, and abort the link. */
static int report_link_failure(Acceptor *a, PyObject *link)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyObject *abort = PyObject_GetAttr(link, s_abort);
    if (abort == NULL)
        PyErr_Clear();
    PyErr_Restore(type, error, trace);
    int failed = report_failure(a->loop, abort == NULL ? Py_None : abort);
    Py_XDECREF(abort);
    return failed;
}

/* Make the link of a client, and start to connect to its upstream. The link owns the client at once. */
static int begin_link(Acceptor *a, int client, Py_ssize_t ordinal, double now)
{
    PyTypeObject *type = (PyTypeObject *)link_class;
    Link *link = (Link *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    PyObject *key = PyLong_FromSsize_t(ordinal);
    int failed = -1;
    if (link != NULL && key != NULL) {
        link->client = client;
        link->ordinal = ordinal;
        link->opened_at = now;
        failed = fill_link(link, a->proxy, a->services, 1) < 0 || PyObject_SetItem(a->links, key, (PyObject *)link) < 0;
    }
    Py_XDECREF(key);
    if (failed) {
        Py_XDECREF((PyObject *)link);
        close_socket_by_reset(client);
        return report_failure(a->loop, Py_None);
    }
    int upstream = connect_to(a->family, a->address, a->address_size);
    if (upstream < 0) {
        PyObject *code = PyLong_FromLong(errno);
        failed = call_method_with((PyObject *)link, s__connect_failed, code);
        Py_XDECREF(code);
    }
    else {
        link->upstream = upstream;
        failed = PyList_Append(a->pending, (PyObject *)link);
    }
    if (failed)
        failed = report_link_failure(a, (PyObject *)link);
    Py_DECREF((PyObject *)link);
    return failed;
}

/* Accept clients that wait, at most so many. Returns their number, and errno if accepting has failed. */
static PyObject *acceptor_accept(PyObject *self, PyObject *args)
{
    Acceptor *a = (Acceptor *)self;
    int listener, most, count = 0, code = 0;
    Py_ssize_t ordinal, step, waiting = PyList_Size(a->pending);
    if (!PyArg_ParseTuple(args, "iinn", &listener, &most, &ordinal, &step))
        return NULL;
    double now = monotonic();
    while (count < most) {
        int client = accept_on(listener);
        if (client < 0) {
            code = errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
            break;
        }
        if (begin_link(a, client, ordinal + step * count++, now) < 0)
            return NULL;
    }
    if (waiting == 0 && PyList_Size(a->pending) > 0) {
        /* After all clients of this round have been accepted: an upstream woken once for many costs less. */
        PyObject *work = PyObject_GetAttr(self, s_send_first);
        PyObject *result =
            work == NULL ? NULL : PyObject_CallMethodObjArgs(a->loop, s_call_soon, work, Py_None, NULL);
        Py_XDECREF(work);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
    }
    return Py_BuildValue("ii", count, code);
}

static int watch(Acceptor *a, int fd, PyObject *direction)
{
    struct epoll_event event = {EPOLLIN | EPOLLRDHUP | (uint32_t)EPOLLET, {.fd = fd}};
    if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    PyObject *key = PyLong_FromLong(fd), *ready = ready_of((Fields *)direction);
    int failed = key == NULL || ready == NULL || PyDict_SetItem(a->handlers, key, ready) < 0;
    /* A closed socket may have left its number there. */
    if (!failed && PySet_Size(a->awaiting_output) > 0)
        failed = PySet_Discard(a->awaiting_output, key) < 0;
    Py_XDECREF(key);
    Py_XDECREF(ready);
    return failed ? -1 : 0;
}

/* As Link._attach and Link._watch_client. */
static int attach(Acceptor *a, Link *link)
{
    Fields *up = (Fields *)link->up, *down = (Fields *)link->down;
    if (watch(a, link->upstream, link->down) < 0)
        return -1;
    up->target = down->source = link->upstream;
    up->writable = 1;
    if (watch(a, link->client, link->up) < 0)
        return -1;
    link->client_watched = 1;
    return 0;
}

static int await_upstream(Link *link, const char *rest, Py_ssize_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize(rest, size);
    int failed = call_method_with((PyObject *)link, s__await_upstream, bytes);
    Py_XDECREF(bytes);
    return failed;
}

/* As Link._send_first_bytes. */
static int send_first_bytes(Acceptor *a, Link *link)
{
    if (link->dead)
        return 0;
    Fields *up = (Fields *)link->up;
    if (!is_none(up->near_chain))
        return call_method((PyObject *)link, s__send_first_bytes);
    Py_ssize_t got = take(link->client, FIRST_BYTES);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return end_link(link, 1);
    if (got <= 0) /* Once the sockets are watched, the poller reports what comes, also if it has come by then. */
        return has_peer(link->upstream) ? attach(a, link) : await_upstream(link, buffer, 0);
    Py_ssize_t sent = give(link->upstream, buffer, got);
    if (sent < 0) {
        PyObject *code = PyLong_FromLong(errno);
        int failed = call_method_with((PyObject *)link, s__connect_failed, code);
        Py_XDECREF(code);
        return failed;
    }
    up->moved = sent;
    return sent == got ? attach(a, link) : await_upstream(link, buffer + sent, got - sent);
}

static PyObject *acceptor_send_first(PyObject *self, PyObject *unused)
{
    Acceptor *a = (Acceptor *)self;
    PyObject *pending = a->pending;
    (void)unused;
    if ((a->pending = PyList_New(0)) == NULL) {
        a->pending = pending;
        return NULL;
    }
    int failed = 0;
    for (Py_ssize_t index = 0; !failed && index < PyList_Size(pending); index++) {
        PyObject *link = PyList_GetItem(pending, index);
        if (send_first_bytes(a, (Link *)link) < 0)
            failed = report_link_failure(a, link);
    }
    Py_DECREF(pending);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef acceptor_methods[] = {
    {"accept", acceptor_accept, METH_VARARGS, "Accept clients that wait, and start to connect to their upstream."},
    {"send_first", acceptor_send_first, METH_NOARGS, "Pass on the first bytes of the clients of this round."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot acceptor_slots[] = {
    {Py_tp_doc, "Accepts the clients of one proxy, where no rule acts and no layer is needed."},
    {Py_tp_init, acceptor_init},
    {Py_tp_methods, acceptor_methods},
    {Py_tp_traverse, acceptor_traverse},
    {Py_tp_clear, acceptor_clear},
    {Py_tp_dealloc, acceptor_dealloc},
    {0, NULL},
};

static PyType_Spec acceptor_spec = {
    "faultkit.proxy._native.Acceptor",
    sizeof(Acceptor),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    acceptor_slots,
};

/* --- the module ---------------------------------------------------------------------------------------- */

static PyObject *configure_links(PyObject *module, PyObject *args)
{
    PyObject *link, *direction;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &link, &direction))
        return NULL;
    Py_INCREF(link);
    Py_XDECREF(link_class);
    link_class = link;
    Py_INCREF(direction);
    Py_XDECREF(direction_class);
    direction_class = direction;
    Py_RETURN_NONE;
}

static PyMethodDef link_functions[] = {
    {"configure_links", configure_links, METH_VARARGS, "Set the classes of links and directions."},
    {NULL, NULL, 0, NULL},
};

int add_link_types(PyObject *module)
{
#define INTERN(name)                                                                                         \
    if ((s_##name = PyUnicode_InternFromString(#name)) == NULL)                                              \
        return -1;
    NAMES(INTERN)
    PyObject *acceptor = PyType_FromSpec(&acceptor_spec);
    if (acceptor == NULL || PyModule_AddObject(module, "Acceptor", acceptor) < 0)
        return -1;
    PyObject *fields = PyType_FromSpec(&link_spec);
    if (fields == NULL)
        return -1;
    link_fields = (PyTypeObject *)fields;
    Py_INCREF(fields);
    if (PyModule_AddObject(module, "LinkFields", fields) < 0)
        return -1;
    return PyModule_AddFunctions(module, link_functions);
}

/* The steps of a request of the load engine, in C. Optional: `faultkit.load.native` chooses.
 *
 * `ConnectionFields` has the fields of `connection_fields.PureFields`. Where its engine has an `Exchange`, it
 * connects, sends the request, takes an answer that comes in one piece, and records it, all without leaving C.
 * Whatever is not the common case (an error, a part of an answer, a head that is unusual) goes to the methods of
 * `Connection`, on the same fields. So failures, crossed requests and retries are decided in one place, in Python.
 *
 * Limited API of Python 3.11: one build serves every later version. Linux only.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* As in native.py: an extension of another revision is not used. Raise both when what they share changes. */
#define REVISION 1

#define READ_BYTES 65536
#define READABLE 0x1
#define ENDED 0x2010
#define LEAST_ROWS 1024

/* The lock of the interpreter is held from the read into this buffer to the last use of it. */
static char buffer[READ_BYTES];

#define NAMES(X)                                                                                             \
    X(_ask) X(_await_connect) X(_dial) X(_dial_failed) X(_finishing) X(_keep_unsent) X(_lost) X(_read_on)    \
    X(_stop_if_done) X(_take) X(_write_failed) X(clock) X(exchange) X(keep_alive) X(loop) X(new_reader)      \
    X(on_input) X(over) X(request) X(route)

#define DECLARE(name) static PyObject *s_##name;
NAMES(DECLARE)

static PyObject *no_bytes;

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* As time.monotonic: whole nanoseconds, divided once. */
    return (double)((long long)now.tv_sec * 1000000000LL + now.tv_nsec) / 1e9;
}

/* Return 0 for a result, which is dropped, and -1 for an exception. */
static int done(PyObject *result)
{
    if (result == NULL)
        return -1;
    Py_DECREF(result);
    return 0;
}

static int call_with_number(PyObject *self, PyObject *name, long number)
{
    PyObject *value = PyLong_FromLong(number);
    if (value == NULL)
        return -1;
    int failed = done(PyObject_CallMethodObjArgs(self, name, value, NULL));
    Py_DECREF(value);
    return failed;
}

static int set_item(PyObject *handlers, int fd, PyObject *handler)
{
    PyObject *key = PyLong_FromLong(fd);
    int failed = key == NULL || handler == NULL ? -1 : PyDict_SetItem(handlers, key, handler);
    Py_XDECREF(key);
    return failed;
}

/* --- heads of answers ----------------------------------------------------------------------------- */

static int is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

static int is_named(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

/* Return the status of an answer that these bytes are, all of it and no more, or 0 if this is not certain.
 *
 * Certain is only what any reader sees in the same way: HTTP/1.1, a status from 200 to 499 that may have a body,
 * one Content-Length, no other framing, and names and values without unusual characters (RFC 9112 §§4-6). */
static int scan(const char *bytes, Py_ssize_t size, int *keep_alive)
{
    if (size < 19 || memcmp(bytes, "HTTP/1.1 ", 9) != 0 || bytes[12] != ' ')
        return 0;
    int status = 0;
    for (int index = 9; index < 12; index++) {
        if (bytes[index] < '0' || bytes[index] > '9')
            return 0;
        status = status * 10 + (bytes[index] - '0');
    }
    if (status < 200 || status >= 500 || status == 204 || status == 205 || status == 304)
        return 0;
    *keep_alive = 1;
    Py_ssize_t at = 13, length = -1;
    for (int first = 1;; first = 0) {
        const char *line = bytes + at, *end = memchr(line, '\r', (size_t)(size - at));
        if (end == NULL || end - bytes + 1 >= size || end[1] != '\n')
            return 0;
        at = end - bytes + 2;
        for (const char *each = line; each < end; each++)
            if ((unsigned char)*each < 0x20 || (unsigned char)*each > 0x7e)
                return 0;
        if (first)
            continue; /* The reason, in any words. */
        if (end == line)
            break;
        const char *colon = line;
        while (colon < end && is_token((unsigned char)*colon))
            colon++;
        if (colon == line || colon == end || *colon != ':')
            return 0;
        size_t name = (size_t)(colon - line);
        const char *value = colon + 1;
        while (value < end && *value == ' ')
            value++;
        while (end > value && end[-1] == ' ')
            end--;
        size_t room = (size_t)(end - value);
        if (is_named(line, name, "content-length")) {
            if (length >= 0 || room == 0 || room > 9)
                return 0;
            for (length = 0; value < end; value++) {
                if (*value < '0' || *value > '9')
                    return 0;
                length = length * 10 + (*value - '0');
            }
        } else if (is_named(line, name, "connection")) {
            if (is_named(value, room, "close"))
                *keep_alive = 0;
            else if (!is_named(value, room, "keep-alive"))
                return 0;
        } else if (is_named(line, name, "transfer-encoding") || is_named(line, name, "upgrade") ||
                   is_named(line, name, "proxy-connection"))
            return 0;
    }
    return length == size - at ? status : 0;
}

static PyObject *scan_response(PyObject *module, PyObject *data)
{
    char *bytes;
    Py_ssize_t size;
    int keep_alive;
    (void)module;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return NULL;
    int status = scan(bytes, size, &keep_alive);
    if (status == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("iO", status, keep_alive ? Py_True : Py_False);
}

/* --- what the connections of an engine share -------------------------------------------------------- */

/* The columns of `native.EXCHANGE_COLUMNS`. */
enum { INTENDED, STARTED, TOTAL, FIRST_BYTE, DNS, CONNECT, TIMES };

typedef struct {
    PyObject_HEAD
    PyObject *owner, *request, *pending, *idle, *handlers, *add, *place;
    PyObject *repeating; /* The class of requesters that ask again as soon as they are answered, */
    double repeat_until; /* until this instant. */
    double begin_at;
    double *times[TIMES];
    uint64_t *received;
    uint16_t *status;
    Py_ssize_t rows, room;
} Exchange;

static PyTypeObject *exchange_type;

static int exchange_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Exchange *e = (Exchange *)self;
    (void)kwargs;
    if (e->owner != NULL) {
        PyErr_SetString(PyExc_TypeError, "an exchange is initialised once");
        return -1;
    }
    PyObject *owner, *request, *pending, *idle, *handlers, *add;
    if (!PyArg_ParseTuple(args, "OO!O!O!O!O", &owner, &PyBytes_Type, &request, &PyDict_Type, &pending, &PyList_Type,
                          &idle, &PyDict_Type, &handlers, &add))
        return -1;
    PyObject **kept[] = {&e->owner, &e->request, &e->pending, &e->idle, &e->handlers, &e->add};
    PyObject *given[] = {owner, request, pending, idle, handlers, add};
    for (int index = 0; index < 6; index++) {
        Py_INCREF(given[index]);
        *kept[index] = given[index];
    }
    return 0;
}

static int exchange_traverse(PyObject *self, visitproc visit, void *arg)
{
    Exchange *e = (Exchange *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(e->owner);
    Py_VISIT(e->request);
    Py_VISIT(e->pending);
    Py_VISIT(e->idle);
    Py_VISIT(e->handlers);
    Py_VISIT(e->add);
    Py_VISIT(e->place);
    Py_VISIT(e->repeating);
    return 0;
}

static int exchange_clear(PyObject *self)
{
    Exchange *e = (Exchange *)self;
    Py_CLEAR(e->owner);
    Py_CLEAR(e->request);
    Py_CLEAR(e->pending);
    Py_CLEAR(e->idle);
    Py_CLEAR(e->handlers);
    Py_CLEAR(e->add);
    Py_CLEAR(e->place);
    Py_CLEAR(e->repeating);
    return 0;
}

static void free_rows(Exchange *e)
{
    for (int column = 0; column < TIMES; column++) {
        PyMem_Free(e->times[column]);
        e->times[column] = NULL;
    }
    PyMem_Free(e->received);
    PyMem_Free(e->status);
    e->received = NULL;
    e->status = NULL;
    e->rows = e->room = 0;
}

static void exchange_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    exchange_clear(self);
    free_rows((Exchange *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int grow(void **column, size_t size)
{
    void *larger = PyMem_Realloc(*column, size);
    if (larger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *column = larger;
    return 0;
}

static int make_room(Exchange *e)
{
    if (e->rows < e->room)
        return 0;
    size_t room = e->room ? (size_t)e->room * 2 : LEAST_ROWS;
    for (int column = 0; column < TIMES; column++)
        if (grow((void **)&e->times[column], room * sizeof(double)) < 0)
            return -1;
    if (grow((void **)&e->received, room * sizeof(uint64_t)) < 0 ||
        grow((void **)&e->status, room * sizeof(uint16_t)) < 0)
        return -1;
    e->room = (Py_ssize_t)room;
    return 0;
}

static Py_ssize_t exchange_length(PyObject *self) { return ((Exchange *)self)->rows; }

static PyObject *exchange_take(PyObject *self, PyObject *ignored)
{
    Exchange *e = (Exchange *)self;
    (void)ignored;
    PyObject *columns = PyTuple_New(TIMES + 2);
    if (columns == NULL)
        return NULL;
    for (int column = 0; column < TIMES + 2; column++) {
        const void *values = column < TIMES ? (void *)e->times[column] : column == TIMES ? (void *)e->received
                                                                                         : (void *)e->status;
        size_t width = column <= TIMES ? 8 : sizeof(uint16_t);
        PyObject *bytes = PyBytes_FromStringAndSize(values, e->rows * (Py_ssize_t)width);
        if (bytes == NULL) {
            Py_DECREF(columns);
            return NULL;
        }
        PyTuple_SetItem(columns, column, bytes);
    }
    e->rows = 0;
    return columns;
}

static void keep(PyObject **field, PyObject *value)
{
    PyObject *before = *field;
    Py_INCREF(value);
    *field = value;
    Py_XDECREF(before);
}

static PyObject *exchange_repeat(PyObject *self, PyObject *args)
{
    Exchange *e = (Exchange *)self;
    PyObject *requesters;
    double until;
    if (!PyArg_ParseTuple(args, "O!d", &PyType_Type, &requesters, &until))
        return NULL;
    keep(&e->repeating, requesters);
    e->repeat_until = until;
    Py_RETURN_NONE;
}

static PyMemberDef exchange_members[] = {
    {"begin_at", T_DOUBLE, offsetof(Exchange, begin_at), 0, "The instant that times are counted from."},
    {"place", T_OBJECT, offsetof(Exchange, place), 0, "The packed address to connect to, or None."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef exchange_methods[] = {
    {"take", exchange_take, METH_NOARGS, "Return the columns since the last call, as bytes."},
    {"repeat", exchange_repeat, METH_VARARGS, "Let requesters of a class ask again at once, until an instant."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot exchange_slots[] = {
    {Py_tp_doc, "What the connections of an engine share: where they are kept, and what was measured."},
    {Py_tp_init, exchange_init},
    {Py_tp_members, exchange_members},
    {Py_tp_methods, exchange_methods},
    {Py_tp_traverse, exchange_traverse},
    {Py_tp_clear, exchange_clear},
    {Py_tp_dealloc, exchange_dealloc},
    {Py_sq_length, exchange_length},
    {0, NULL},
};

static PyType_Spec exchange_spec = {
    "faultkit.load._native.Exchange",
    sizeof(Exchange),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    exchange_slots,
};

/* --- fields of a connection -------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *owner, *request, *addresses, *tls, *granted, *unsent, *answer, *requester;
    Exchange *exchange; /* NULL: every step is Python. */
    double stage_began, intended, started, first_byte, dns_s, connect_s, tls_s;
    Py_ssize_t sent, asked_at, received;
    int fd, write_error;
    char keeps, ending, idle, kept;
} Fields;

static PyMemberDef fields_members[] = {
    {"_owner", T_OBJECT, offsetof(Fields, owner), 0, NULL},
    {"_request", T_OBJECT, offsetof(Fields, request), 0, NULL},
    {"_addresses", T_OBJECT, offsetof(Fields, addresses), 0, NULL},
    {"_tls", T_OBJECT, offsetof(Fields, tls), 0, NULL},
    {"_granted", T_OBJECT, offsetof(Fields, granted), 0, NULL},
    {"_unsent", T_OBJECT, offsetof(Fields, unsent), 0, NULL},
    {"requester", T_OBJECT, offsetof(Fields, requester), 0, NULL},
    {"_stage_began", T_DOUBLE, offsetof(Fields, stage_began), 0, NULL},
    {"intended", T_DOUBLE, offsetof(Fields, intended), 0, NULL},
    {"started", T_DOUBLE, offsetof(Fields, started), 0, NULL},
    {"first_byte", T_DOUBLE, offsetof(Fields, first_byte), 0, NULL},
    {"dns_s", T_DOUBLE, offsetof(Fields, dns_s), 0, NULL},
    {"connect_s", T_DOUBLE, offsetof(Fields, connect_s), 0, NULL},
    {"tls_s", T_DOUBLE, offsetof(Fields, tls_s), 0, NULL},
    {"_sent", T_PYSSIZET, offsetof(Fields, sent), 0, NULL},
    {"_asked_at", T_PYSSIZET, offsetof(Fields, asked_at), 0, NULL},
    {"received", T_PYSSIZET, offsetof(Fields, received), 0, NULL},
    {"fd", T_INT, offsetof(Fields, fd), 0, NULL},
    {"_write_error", T_INT, offsetof(Fields, write_error), 0, NULL},
    {"_keeps", T_BOOL, offsetof(Fields, keeps), 0, NULL},
    {"_ending", T_BOOL, offsetof(Fields, ending), 0, NULL},
    {"idle", T_BOOL, offsetof(Fields, idle), 0, NULL},
    {"kept", T_BOOL, offsetof(Fields, kept), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Made when it is needed: most answers do without. */
static PyObject *fields_answer(PyObject *self, void *closure)
{
    Fields *f = (Fields *)self;
    (void)closure;
    if (f->answer == NULL) {
        f->answer = PyObject_CallMethodObjArgs(f->owner, s_new_reader, NULL);
        if (f->answer == NULL)
            return NULL;
    }
    Py_INCREF(f->answer);
    return f->answer;
}

static PyGetSetDef fields_getset[] = {
    {"answer", fields_answer, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int init_of_route(Fields *f)
{
    PyObject *route = PyObject_GetAttr(f->owner, s_route);
    PyObject *keep_alive = route == NULL ? NULL : PyObject_GetAttr(route, s_keep_alive);
    f->request = route == NULL ? NULL : PyObject_GetAttr(route, s_request);
    f->keeps = keep_alive == Py_True;
    Py_XDECREF(keep_alive);
    Py_XDECREF(route);
    f->addresses = PyList_New(0);
    PyObject *exchange = PyObject_GetAttr(f->owner, s_exchange);
    if (exchange != NULL && Py_TYPE(exchange) == exchange_type)
        f->exchange = (Exchange *)exchange;
    else
        Py_XDECREF(exchange);
    return exchange == NULL || f->request == NULL || keep_alive == NULL || f->addresses == NULL ? -1 : 0;
}

static int fields_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Fields *f = (Fields *)self;
    PyObject *owner, *requester;
    double intended, started;
    (void)kwargs;
    if (f->owner != NULL) {
        PyErr_SetString(PyExc_TypeError, "a connection is initialised once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOdd", &owner, &requester, &intended, &started))
        return -1;
    keep(&f->owner, owner);
    keep(&f->requester, requester);
    keep(&f->granted, no_bytes);
    keep(&f->unsent, no_bytes);
    f->intended = intended;
    f->started = f->stage_began = started;
    f->first_byte = f->dns_s = f->connect_s = f->tls_s = Py_NAN;
    f->fd = -1;
    return init_of_route(f);
}

static int fields_traverse(PyObject *self, visitproc visit, void *arg)
{
    Fields *f = (Fields *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->owner);
    Py_VISIT(f->request);
    Py_VISIT(f->addresses);
    Py_VISIT(f->tls);
    Py_VISIT(f->granted);
    Py_VISIT(f->unsent);
    Py_VISIT(f->answer);
    Py_VISIT(f->requester);
    Py_VISIT((PyObject *)f->exchange);
    return 0;
}

static int fields_clear(PyObject *self)
{
    Fields *f = (Fields *)self;
    Py_CLEAR(f->owner);
    Py_CLEAR(f->request);
    Py_CLEAR(f->addresses);
    Py_CLEAR(f->tls);
    Py_CLEAR(f->granted);
    Py_CLEAR(f->unsent);
    Py_CLEAR(f->answer);
    Py_CLEAR(f->requester);
    Py_CLEAR(f->exchange);
    return 0;
}

static void fields_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    fields_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* --- asking ------------------------------------------------------------------------------------------ */

/* Send the request. Returns how much was sent, or -1 with `errno`. */
static Py_ssize_t send_request(Fields *f, char **bytes, Py_ssize_t *size)
{
    PyBytes_AsStringAndSize(f->exchange->request, bytes, size);
    Py_ssize_t sent;
    do
        sent = send(f->fd, *bytes, (size_t)*size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

static int keep_unsent(Fields *f, const char *bytes, Py_ssize_t size)
{
    PyObject *rest = PyBytes_FromStringAndSize(bytes, size);
    if (rest == NULL)
        return -1;
    int failed = done(PyObject_CallMethodObjArgs((PyObject *)f, s__keep_unsent, rest, NULL));
    Py_DECREF(rest);
    return failed;
}

/* The present on the clock of the loop, which is monotonic() wherever there is an exchange. */
static int read_clock(Fields *f, double *now)
{
    if (f->exchange != NULL) {
        *now = monotonic();
        return 0;
    }
    PyObject *loop = PyObject_GetAttr(f->owner, s_loop);
    PyObject *value = loop == NULL ? NULL : PyObject_CallMethodObjArgs(loop, s_clock, NULL);
    Py_XDECREF(loop);
    if (value == NULL)
        return -1;
    *now = PyFloat_AsDouble(value);
    Py_DECREF(value);
    return *now == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* Send the next request on an idle connection, now. */
static int ask(Fields *f)
{
    f->idle = 0;
    f->received = 0;
    f->asked_at = f->sent;
    char *bytes;
    Py_ssize_t size, sent = send_request(f, &bytes, &size);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return call_with_number((PyObject *)f, s__write_failed, errno);
    sent = sent < 0 ? 0 : sent;
    f->sent += sent;
    return sent < size ? keep_unsent(f, bytes + sent, size - sent) : 0;
}

static PyObject *fields_ask(PyObject *self, PyObject *args)
{
    Fields *f = (Fields *)self;
    PyObject *requester, *intended;
    if (!PyArg_ParseTuple(args, "OO", &requester, &intended))
        return NULL;
    keep(&f->requester, requester);
    if (read_clock(f, &f->started) < 0)
        return NULL;
    f->intended = intended == Py_None ? f->started : PyFloat_AsDouble(intended);
    if (f->intended == -1.0 && PyErr_Occurred())
        return NULL;
    if (f->exchange == NULL) {
        f->idle = 0;
        f->received = 0;
        return PyObject_CallMethodObjArgs(self, s__ask, NULL);
    }
    if (ask(f) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* --- connecting -------------------------------------------------------------------------------------- */

/* Start to connect. Returns the descriptor, or -1 with `errno`. */
static int start_connect(PyObject *place)
{
    char *address;
    Py_ssize_t length;
    int one = 1;
    PyBytes_AsStringAndSize(place, &address, &length);
    int family = ((const struct sockaddr *)address)->sa_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)address, (socklen_t)length) == 0 || errno == EINPROGRESS)
        return fd;
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static PyObject *dial_failed(PyObject *self, PyObject *addresses, int code)
{
    PyObject *number = PyLong_FromLong(code);
    if (number == NULL)
        return NULL;
    PyObject *result = PyObject_CallMethodObjArgs(self, s__dial_failed, addresses, number, NULL);
    Py_DECREF(number);
    return result;
}

static int add_to_loop(Fields *f)
{
    PyObject *handler = PyObject_GetAttr((PyObject *)f, s_on_input), *fd = PyLong_FromLong(f->fd);
    int failed = set_item(f->exchange->handlers, f->fd, handler);
    if (!failed)
        failed = fd == NULL ? -1 : done(PyObject_CallFunctionObjArgs(f->exchange->add, fd, NULL));
    Py_XDECREF(fd);
    Py_XDECREF(handler);
    return failed;
}

static PyObject *fields_dial(PyObject *self, PyObject *addresses)
{
    Fields *f = (Fields *)self;
    if (read_clock(f, &f->stage_began) < 0)
        return NULL;
    if (f->exchange == NULL || f->exchange->place == NULL || !PyBytes_Check(f->exchange->place))
        return PyObject_CallMethodObjArgs(self, s__dial, addresses, NULL);
    int fd = start_connect(f->exchange->place);
    if (fd < 0)
        return dial_failed(self, addresses, errno);
    double now = monotonic();
    char *bytes;
    Py_ssize_t size, sent;
    f->fd = fd;
    sent = send_request(f, &bytes, &size);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) { /* It is under way: only on loopback it is not. */
        PyObject *copy = PySequence_List(addresses);
        if (copy == NULL)
            return NULL;
        Py_XDECREF(f->addresses);
        f->addresses = copy;
        return PyObject_CallMethodObjArgs(self, s__await_connect, Py_True, NULL);
    }
    if (sent < 0) { /* It was refused; this call has taken the error from the socket. */
        int code = errno;
        close(fd);
        f->fd = -1;
        return dial_failed(self, addresses, code);
    }
    f->connect_s = now - f->stage_began;
    f->sent = sent;
    if (add_to_loop(f) < 0 || (sent < size && keep_unsent(f, bytes + sent, size - sent) < 0))
        return NULL;
    Py_RETURN_NONE;
}

/* --- answers ----------------------------------------------------------------------------------------- */

static int record(Fields *f, double now, int status)
{
    Exchange *e = f->exchange;
    if (make_room(e) < 0)
        return -1;
    Py_ssize_t row = e->rows++;
    e->times[INTENDED][row] = f->intended - e->begin_at;
    e->times[STARTED][row] = f->started - e->begin_at;
    e->times[TOTAL][row] = now - f->started;
    e->times[FIRST_BYTE][row] = f->first_byte - f->started;
    e->times[DNS][row] = f->kept ? Py_NAN : f->dns_s;
    e->times[CONNECT][row] = f->kept ? Py_NAN : f->connect_s;
    e->received[row] = (uint64_t)f->received;
    e->status[row] = (uint16_t)status;
    return 0;
}

/* As Connection.close: epoll forgets a closed descriptor by itself. */
static int close_connection(Fields *f)
{
    PyObject *key = PyLong_FromLong(f->fd);
    int failed = key == NULL ? -1 : PyDict_DelItem(f->exchange->handlers, key);
    Py_XDECREF(key);
    close(f->fd);
    f->fd = -1;
    f->idle = 0;
    return failed;
}

/* As the end of Connection._take, and Engine.answered. */
static int answered(Fields *f, double now, int status, int keep_alive)
{
    Exchange *e = f->exchange;
    f->idle = keep_alive && f->keeps;
    if ((!f->idle && close_connection(f) < 0) || record(f, now, status) < 0 ||
        PyDict_DelItem(e->pending, (PyObject *)f) < 0)
        return -1;
    if (f->idle) {
        f->kept = 1;
        if ((PyObject *)Py_TYPE(f->requester) == e->repeating && now < e->repeat_until) {
            /* The connection that became idle last is used next: this one. */
            if (PyDict_SetItem(e->pending, (PyObject *)f, Py_None) < 0)
                return -1;
            f->started = f->intended = monotonic();
            return ask(f);
        }
        if (PyList_Append(e->idle, (PyObject *)f) < 0)
            return -1;
    }
    PyObject *at = PyFloat_FromDouble(now);
    int failed = at == NULL ? -1 : done(PyObject_CallMethodObjArgs(f->requester, s_over, at, NULL));
    Py_XDECREF(at);
    PyObject *finishing = failed ? NULL : PyObject_GetAttr(e->owner, s__finishing);
    if (finishing == NULL)
        return -1;
    if (finishing == Py_True)
        failed = done(PyObject_CallMethodObjArgs(e->owner, s__stop_if_done, NULL));
    Py_DECREF(finishing);
    return failed;
}

/* Give bytes to Connection._take, and read on if it says that more must follow. */
static int take_in_python(Fields *f, Py_ssize_t size, double now)
{
    PyObject *data = PyBytes_FromStringAndSize(buffer, size), *at = PyFloat_FromDouble(now);
    PyObject *more = data == NULL || at == NULL
                         ? NULL
                         : PyObject_CallMethodObjArgs((PyObject *)f, s__take, data, at, NULL);
    Py_XDECREF(data);
    Py_XDECREF(at);
    if (more == NULL)
        return -1;
    int goes_on = more == Py_True && (size == READ_BYTES || f->ending);
    Py_DECREF(more);
    return goes_on ? call_with_number((PyObject *)f, s__read_on, READABLE) : 0;
}

static int handle(Fields *f, int flags)
{
    if (f->exchange == NULL || f->fd < 0 || f->idle || f->received || !(flags & READABLE) ||
        flags & ~(READABLE | ENDED) || PyObject_Size(f->unsent) != 0)
        return call_with_number((PyObject *)f, s__read_on, flags);
    if (flags & ENDED) {
        f->keeps = 0;
        f->ending = 1;
    }
    Py_ssize_t size;
    do
        size = read(f->fd, buffer, READ_BYTES);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : call_with_number((PyObject *)f, s__lost, errno);
    double now = monotonic();
    int keep_alive, status = scan(buffer, size, &keep_alive);
    if (status == 0)
        return take_in_python(f, size, now);
    f->first_byte = now;
    f->received = size;
    return answered(f, now, status, keep_alive);
}

static PyObject *fields_on_input(PyObject *self, PyObject *flags)
{
    long value = PyLong_AsLong(flags);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    Py_INCREF(self); /* Closing it drops the handler, which may be the last that refers to it. */
    int failed = handle((Fields *)self, (int)value);
    Py_DECREF(self);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef fields_methods[] = {
    {"dial", fields_dial, METH_O, "Try the addresses in turn; the request follows."},
    {"ask", fields_ask, METH_VARARGS, "Send the next request on this idle connection."},
    {"on_input", fields_on_input, METH_O, "Handle bytes of an answer without TLS."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot fields_slots[] = {
    {Py_tp_doc, "The fields of a connection, and the steps that every request takes."},
    {Py_tp_init, fields_init},
    {Py_tp_members, fields_members},
    {Py_tp_getset, fields_getset},
    {Py_tp_methods, fields_methods},
    {Py_tp_traverse, fields_traverse},
    {Py_tp_clear, fields_clear},
    {Py_tp_dealloc, fields_dealloc},
    {0, NULL},
};

static PyType_Spec fields_spec = {
    "faultkit.load._native.ConnectionFields",
    sizeof(Fields),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    fields_slots,
};

/* --- the module -------------------------------------------------------------------------------------- */

static PyMethodDef module_methods[] = {
    {"scan_response", scan_response, METH_O, "Return status and keep-alive of a whole answer; None if uncertain."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "faultkit.load._native", "The steps of a request of the load engine.", -1, module_methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
#define INTERN(name)                                                                                         \
    if ((s_##name = PyUnicode_InternFromString(#name)) == NULL)                                              \
        return NULL;
    NAMES(INTERN)
    no_bytes = PyBytes_FromStringAndSize("", 0);
    PyObject *module = PyModule_Create(&module_definition);
    exchange_type = (PyTypeObject *)PyType_FromSpec(&exchange_spec);
    PyObject *fields = PyType_FromSpec(&fields_spec);
    if (no_bytes == NULL || module == NULL || exchange_type == NULL || fields == NULL)
        return NULL;
    Py_INCREF((PyObject *)exchange_type);
    if (PyModule_AddObject(module, "Exchange", (PyObject *)exchange_type) < 0 ||
        PyModule_AddObject(module, "ConnectionFields", fields) < 0 ||
        PyModule_AddIntConstant(module, "REVISION", REVISION) < 0)
        return NULL;
    return module;
}

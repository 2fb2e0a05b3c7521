/* The hot paths of the event loop and of a direction, in C. Optional: `faultkit.proxy.native` chooses.
 *
 * `run_rounds` is `Loop._run_rounds`. `DirectionFields` has the fields and the event handlers of
 * `direction_fields.DirectionFields`; its handlers move bytes themselves in the two most common cases (no rule
 * acts; one rule that only delays) and call the methods of `Direction` in all others. Both work on the same
 * Python objects as the pure path: the timers' heap, the chain and its queues. So a live change, a budget or a
 * half-close is decided in one place, in Python.
 *
 * Limited API of Python 3.11: one build serves every later version. Linux only.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <structmember.h>

#include "_native.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "_native_tls.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* As in native.py: an extension of another revision is not used. Raise both when what they share changes. */
#define REVISION 8

#define MOST_EVENTS 512

char buffer[BUFFER_SIZE];

/* What `configure` was given: constants of direction.py, so that each exists once. */
static struct {
    PyObject *copy, *chain, *shut; /* modes */
    PyObject *data;                /* the class of events with bytes */
    Py_ssize_t chunk, bulk, most_overdue, always_allowed;
    int turns, big_reads, most_recent;
} settings;

static PyObject *heappush, *heappop;
static PyTypeObject *straight_type;

#define NAMES(X)                                                                                             \
    X(abort) X(_act_on_the_rest) X(append) X(at) X(blind) X(budget) X(count) X(down) X(due)                  \
    X(end_of_chain_source) X(_end_of_source) X(_failed) X(feed) X(feed_layer) X(filter) X(flush)             \
    X(has_direct_clock) X(held) X(held_bytes) X(incoming) X(keep_events) X(keep_rest) X(lateness)            \
    X(loop) X(_open_pipe_queue) X(payload) X(popleft) X(pump) X(pump_again) X(_pump_chain) X(read_size)      \
    X(ready_at) X(recent) X(reset) X(_running) X(socket_event) X(sole) X(stages) X(_timer_count)             \
    X(_timer_due) X(_timers) X(up) X(wake_at)

#define DECLARE(name) static PyObject *s_##name;
NAMES(DECLARE)

double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* As time.monotonic: whole nanoseconds, divided once. */
    return (double)((long long)now.tv_sec * 1000000000LL + now.tv_nsec) / 1e9;
}

/* --- small wrappers ---------------------------------------------------------------------------- */

int call_method(PyObject *self, PyObject *name)
{
    PyObject *result = PyObject_CallMethodObjArgs(self, name, NULL);
    if (result == NULL)
        return -1;
    Py_DECREF(result);
    return 0;
}

int call_method_with(PyObject *self, PyObject *name, PyObject *argument)
{
    PyObject *result = argument ? PyObject_CallMethodObjArgs(self, name, argument, NULL) : NULL;
    if (result == NULL)
        return -1;
    Py_DECREF(result);
    return 0;
}

static int get_double(PyObject *self, PyObject *name, double *value)
{
    PyObject *found = PyObject_GetAttr(self, name);
    if (found == NULL)
        return -1;
    *value = PyFloat_AsDouble(found);
    Py_DECREF(found);
    return *value == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int get_size(PyObject *self, PyObject *name, Py_ssize_t *value)
{
    PyObject *found = PyObject_GetAttr(self, name);
    if (found == NULL)
        return -1;
    *value = PyLong_AsSsize_t(found);
    Py_DECREF(found);
    return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int add_size(PyObject *self, PyObject *name, Py_ssize_t more)
{
    Py_ssize_t value;
    if (get_size(self, name, &value) < 0)
        return -1;
    PyObject *sum = PyLong_FromSsize_t(value + more);
    int failed = sum == NULL ? -1 : PyObject_SetAttr(self, name, sum);
    Py_XDECREF(sum);
    return failed;
}

/* --- fields of a direction ----------------------------------------------------------------------- */

static PyMemberDef fields_members[] = {
    {"_link", T_OBJECT, offsetof(Fields, link), 0, NULL},
    {"_services", T_OBJECT, offsetof(Fields, services), 0, NULL},
    {"mode", T_OBJECT, offsetof(Fields, mode), 0, NULL},
    {"out", T_OBJECT, offsetof(Fields, out), 0, NULL},
    {"pipe_queue", T_OBJECT, offsetof(Fields, pipe_queue), 0, NULL},
    {"near_chain", T_OBJECT, offsetof(Fields, near_chain), 0, NULL},
    {"far_chain", T_OBJECT, offsetof(Fields, far_chain), 0, NULL},
    {"gate", T_OBJECT, offsetof(Fields, gate), 0, NULL},
    {"straight", T_OBJECT, offsetof(Fields, straight), 0, NULL},
    {"whole", T_OBJECT, offsetof(Fields, whole), 0, NULL},
    {"_timer_at", T_DOUBLE, offsetof(Fields, timer_at), 0, NULL},
    {"paced_at", T_DOUBLE, offsetof(Fields, paced_at), 0, NULL},
    {"moved", T_PYSSIZET, offsetof(Fields, moved), 0, NULL},
    {"out_bytes", T_PYSSIZET, offsetof(Fields, out_bytes), 0, NULL},
    {"_reported_bytes", T_PYSSIZET, offsetof(Fields, reported_bytes), 0, NULL},
    {"source", T_INT, offsetof(Fields, source), 0, NULL},
    {"target", T_INT, offsetof(Fields, target), 0, NULL},
    {"ending", T_INT, offsetof(Fields, ending), 0, NULL},
    {"big_reads", T_INT, offsetof(Fields, big_reads), 0, NULL},
    {"readable", T_BOOL, offsetof(Fields, readable), 0, NULL},
    {"writable", T_BOOL, offsetof(Fields, writable), 0, NULL},
    {"end_sent", T_BOOL, offsetof(Fields, end_sent), 0, NULL},
    {"_queued", T_BOOL, offsetof(Fields, queued), 0, NULL},
    {"_direct", T_BOOL, offsetof(Fields, direct), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* As PureFields.__init__, once the sockets are set; what is not set here is 0, false or None. */
void fill_direction(Fields *f, PyObject *link, PyObject *services, int direct)
{
    PyObject **kept[] = {&f->link, &f->services, &f->mode};
    PyObject *given[] = {link, services, settings.copy == NULL ? Py_None : settings.copy};
    for (int index = 0; index < 3; index++) {
        Py_INCREF(given[index]);
        *kept[index] = given[index];
    }
    f->direct = (char)direct;
    f->has_native_link = (char)is_native_link(link);
    f->writable = f->target >= 0;
    f->timer_at = f->paced_at = Py_HUGE_VAL;
}

static int fields_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Fields *f = (Fields *)self;
    PyObject *link, *services;
    (void)kwargs;
    if (f->link != NULL) {
        PyErr_SetString(PyExc_TypeError, "a direction is initialised once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOii", &link, &services, &f->source, &f->target))
        return -1;
    PyObject *direct = PyObject_GetAttr(services, s_has_direct_clock);
    if (direct == NULL)
        return -1;
    fill_direction(f, link, services, direct == Py_True);
    Py_DECREF(direct);
    return 0;
}

static int fields_traverse(PyObject *self, visitproc visit, void *arg)
{
    Fields *f = (Fields *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->link);
    Py_VISIT(f->services);
    Py_VISIT(f->mode);
    Py_VISIT(f->out);
    Py_VISIT(f->pipe_queue);
    Py_VISIT(f->near_chain);
    Py_VISIT(f->far_chain);
    Py_VISIT(f->gate);
    Py_VISIT(f->straight);
    Py_VISIT(f->whole);
    return 0;
}

static int fields_clear(PyObject *self)
{
    Fields *f = (Fields *)self;
    Py_CLEAR(f->link);
    Py_CLEAR(f->services);
    Py_CLEAR(f->mode);
    Py_CLEAR(f->out);
    Py_CLEAR(f->pipe_queue);
    Py_CLEAR(f->near_chain);
    Py_CLEAR(f->far_chain);
    Py_CLEAR(f->gate);
    Py_CLEAR(f->straight);
    Py_CLEAR(f->whole);
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

/* --- COPY: no rule acts -------------------------------------------------------------------------- */

/* Write, whatever signals come. A full socket takes 0 bytes; -1 is any other error. */
Py_ssize_t give(int target, const char *bytes, Py_ssize_t size)
{
    for (;;) {
        Py_ssize_t sent = send(target, bytes, (size_t)size, MSG_NOSIGNAL);
        if (sent >= 0)
            return sent;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -1;
    }
}

Py_ssize_t take(int source, Py_ssize_t size)
{
    Py_ssize_t got;
    do
        got = recv(source, buffer, (size_t)size, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

static int keep_rest(Fields *f, const char *bytes, Py_ssize_t size)
{
    PyObject *rest = PyBytes_FromStringAndSize(bytes, size);
    int failed = call_method_with((PyObject *)f, s_keep_rest, rest);
    Py_XDECREF(rest);
    return failed;
}

static int reset_link(Fields *f)
{
    return f->has_native_link ? end_link_by_reset(f->link) : call_method(f->link, s_reset);
}

static int copy(Fields *f)
{
    for (int turns = settings.turns; f->readable && f->writable;) {
        Py_ssize_t size = take(f->source, settings.chunk);
        if (size < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                return reset_link(f);
            f->readable = 0;
            return 0;
        }
        if (size == 0)
            return f->has_native_link ? forward_end(f) : call_method((PyObject *)f, s__end_of_source);
        Py_ssize_t sent = give(f->target, buffer, size);
        if (sent < 0)
            return reset_link(f);
        f->moved += sent;
        if (sent < size && keep_rest(f, buffer + sent, size - sent) < 0)
            return -1;
        f->big_reads = size >= settings.bulk ? f->big_reads + 1 : 0;
        if (size < settings.chunk && !f->ending) {
            f->readable = 0;
            if (!f->big_reads)
                return 0;
        }
        if (f->big_reads >= settings.big_reads) {
            PyObject *opened = PyObject_CallMethodObjArgs((PyObject *)f, s__open_pipe_queue, NULL);
            if (opened == NULL)
                return -1;
            int is_open = opened == Py_True;
            Py_DECREF(opened);
            if (is_open)
                return call_method((PyObject *)f, s_pump_again);
        }
        if (--turns == 0)
            return call_method((PyObject *)f, s_pump_again);
    }
    return 0;
}

/* --- CHAIN: one rule acts, and only delays --------------------------------------------------------- */

static PyObject *data_of(double at, PyObject *payload)
{
    PyTypeObject *type = (PyTypeObject *)settings.data;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *when = PyFloat_FromDouble(at);
    PyObject *event = allocate(type, 0);
    /* Its own __setattr__ refuses: the class is frozen. */
    if (event == NULL || when == NULL || PyObject_GenericSetAttr(event, s_at, when) < 0 ||
        PyObject_GenericSetAttr(event, s_payload, payload) < 0)
        Py_CLEAR(event);
    Py_XDECREF(when);
    return event;
}

static PyObject *new_data(double at, const char *bytes, Py_ssize_t size)
{
    /* The bytes first: to allocate an object may run the garbage collector, and with it other threads. */
    PyObject *payload = PyBytes_FromStringAndSize(bytes, size);
    PyObject *event = payload == NULL ? NULL : data_of(at, payload);
    Py_XDECREF(payload);
    return event;
}

/* Return the length of the payload of an event, 0 for an end, -1 for an error. */
static Py_ssize_t data_size(PyObject *event)
{
    if ((PyObject *)Py_TYPE(event) != settings.data)
        return 0;
    PyObject *payload = PyObject_GetAttr(event, s_payload);
    Py_ssize_t size = payload == NULL ? -1 : PyObject_Size(payload);
    Py_XDECREF(payload);
    return size;
}

/* When the first event of a queue is due; infinity for an empty queue. */
static int first_at(PyObject *queue, double *at)
{
    *at = Py_HUGE_VAL;
    Py_ssize_t size = PyObject_Size(queue);
    if (size <= 0)
        return size < 0 ? -1 : 0;
    PyObject *first = PySequence_GetItem(queue, 0);
    if (first == NULL)
        return -1;
    int failed = get_double(first, s_at, at);
    Py_DECREF(first);
    return failed;
}

/* The objects behind the services of the directions that a loop runs: looked up for one of them, used for all. */
static struct {
    PyObject *services, *lateness, *budget, *timers, *timer_count;
} known;

static void forget_services(void)
{
    Py_CLEAR(known.services);
    Py_CLEAR(known.lateness);
    Py_CLEAR(known.budget);
    Py_CLEAR(known.timers);
    Py_CLEAR(known.timer_count);
}

static int know_services(PyObject *services)
{
    if (services == known.services)
        return 0;
    forget_services();
    PyObject *loop = PyObject_GetAttr(services, s_loop);
    if (loop != NULL && (known.timers = PyObject_GetAttr(loop, s__timers)) != NULL &&
        (known.timer_count = PyObject_GetAttr(loop, s__timer_count)) != NULL &&
        (known.lateness = PyObject_GetAttr(services, s_lateness)) != NULL &&
        (known.budget = PyObject_GetAttr(services, s_budget)) != NULL) {
        Py_INCREF(services);
        known.services = services;
    }
    Py_XDECREF(loop);
    return known.services == NULL ? -1 : 0;
}

static int record_lateness(Fields *f, double seconds)
{
    if (know_services(f->services) < 0)
        return -1;
    PyObject *lateness = known.lateness;
    Py_INCREF(lateness);
    PyObject *recent = PyObject_GetAttr(lateness, s_recent);
    PyObject *value = PyFloat_FromDouble(seconds);
    int failed = recent == NULL || value == NULL ? -1 : PyList_Append(recent, value);
    if (!failed && PyList_Size(recent) >= settings.most_recent)
        failed = call_method(lateness, s_count);
    Py_XDECREF(value);
    Py_XDECREF(recent);
    Py_DECREF(lateness);
    return failed;
}

/* Send an event that is due. 1: the target took it; 0: it waits in `out`, or the link has ended. */
static int send_event(Fields *f, PyObject *event)
{
    if (is_none(f->out) && f->writable && f->target >= 0 && (PyObject *)Py_TYPE(event) == settings.data) {
        PyObject *payload = PyObject_GetAttr(event, s_payload);
        if (payload == NULL)
            return -1;
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_Check(payload) && PyBytes_AsStringAndSize(payload, &bytes, &size) == 0) {
            Py_ssize_t sent = give(f->target, bytes, size);
            int result = 1;
            if (sent < 0)
                result = call_method(f->link, s_reset);
            else {
                f->moved += sent;
                if (sent < size)
                    result = keep_rest(f, bytes + sent, size - sent);
            }
            Py_DECREF(payload);
            return result;
        }
        Py_DECREF(payload);
    }
    PyObject *events = PyList_New(1);
    if (events == NULL)
        return -1;
    Py_INCREF(event);
    PyList_SetItem(events, 0, event);
    int failed = call_method_with((PyObject *)f, s_keep_events, events);
    Py_DECREF(events);
    return failed;
}

/* Pass on everything that is due, as Direction.release. `is_timed`: record how late it is. */
static int release(Fields *f, PyObject *chain, PyObject *held, double now, int is_timed)
{
    /* A receiver that does not read is not our lateness. */
    int punctual = is_timed && f->writable && is_none(f->out);
    double at;
    while (1) {
        if (first_at(held, &at) < 0)
            return -1;
        if (at > now || at == Py_HUGE_VAL)
            break;
        PyObject *event = PyObject_CallMethodObjArgs(held, s_popleft, NULL);
        if (event == NULL)
            return -1;
        Py_ssize_t size = data_size(event);
        int failed = size < 0 || (size && add_size(chain, s_held_bytes, -size) < 0) ||
                     send_event(f, event) < 0 || (punctual && record_lateness(f, now - at) < 0);
        Py_DECREF(event);
        if (failed)
            return -1;
        if (f->mode == settings.shut)
            return 0;
    }
    return is_none(f->out) ? 0 : call_method((PyObject *)f, s_flush);
}

static int arm(Fields *f, double at)
{
    if (!(at < f->timer_at))
        return 0;
    f->timer_at = at;
    int failed = -1;
    PyObject *timer = know_services(f->services) < 0 ? NULL : PyTuple_New(4);
    if (timer != NULL) {
        PyObject *timers = known.timers;
        Py_INCREF(timers);
        PyObject *parts[4] = {
            PyFloat_FromDouble(at),
            PyIter_Next(known.timer_count),
            PyObject_GetAttr((PyObject *)f, s__timer_due),
            PyObject_GetAttr(f->link, s_abort),
        };
        failed = 0;
        for (int index = 0; index < 4; index++) {
            failed |= parts[index] == NULL ? -1 : 0;
            PyTuple_SetItem(timer, index, parts[index]);
        }
        PyObject *pushed = failed ? NULL : PyObject_CallFunctionObjArgs(heappush, timers, timer, NULL);
        failed = pushed == NULL ? -1 : 0;
        Py_XDECREF(pushed);
        Py_DECREF(timers);
    }
    Py_XDECREF(timer);
    return failed;
}

/* Report to the budget how many bytes this direction holds back. */
static int report_held(Fields *f, Py_ssize_t bytes)
{
    if (bytes == f->reported_bytes)
        return 0;
    if (know_services(f->services) < 0)
        return -1;
    int failed = add_size(known.budget, s_held, bytes - f->reported_bytes);
    f->reported_bytes = bytes;
    return failed;
}

/* Set a timer and report the held bytes, as Direction.settle; the chain is not idle. */
static int settle(Fields *f, PyObject *chain, PyObject *held, PyObject *filter)
{
    double next_at, wake_at;
    Py_ssize_t bytes;
    if (first_at(held, &next_at) < 0 || get_double(filter, s_wake_at, &wake_at) < 0 ||
        arm(f, wake_at < next_at ? wake_at : next_at) < 0 || get_size(chain, s_held_bytes, &bytes) < 0)
        return -1;
    return report_held(f, bytes + f->out_bytes);
}

/* Feed an event to the filter, and queue what comes out. */
static int feed(PyObject *chain, PyObject *held, PyObject *filter, PyObject *event)
{
    PyObject *given = PyObject_CallMethodObjArgs(filter, s_feed, event, NULL);
    if (given == NULL)
        return -1;
    PyObject *each = PyObject_GetIter(given), *one;
    Py_DECREF(given);
    if (each == NULL)
        return -1;
    Py_ssize_t added = 0;
    while ((one = PyIter_Next(each)) != NULL) {
        Py_ssize_t size = data_size(one);
        int failed = size < 0 || call_method_with(held, s_append, one) < 0;
        added += size;
        Py_DECREF(one);
        if (failed)
            break;
    }
    Py_DECREF(each);
    if (PyErr_Occurred())
        return -1;
    return added ? add_size(chain, s_held_bytes, added) : 0;
}

/* Queue bytes that have arrived, at the time that a filter gives which only delays. */
static int delay(PyObject *chain, PyObject *held, PyObject *due, double at, Py_ssize_t size, double *until)
{
    /* The bytes first: the filter is Python, and other threads may run meanwhile. */
    PyObject *event = new_data(at, buffer, size);
    PyObject *when = event == NULL ? NULL : PyObject_GetAttr(event, s_at);
    PyObject *later = when == NULL ? NULL : PyObject_CallFunctionObjArgs(due, when, NULL);
    *until = later == NULL ? 0.0 : PyFloat_AsDouble(later);
    int failed = later == NULL || PyErr_Occurred() || PyObject_GenericSetAttr(event, s_at, later) < 0 ||
                 call_method_with(held, s_append, event) < 0 || add_size(chain, s_held_bytes, size) < 0;
    Py_XDECREF(event);
    Py_XDECREF(when);
    Py_XDECREF(later);
    return failed ? -1 : 0;
}

static int end_of_chain_source(Fields *f, int is_failed, double now)
{
    PyObject *flag = PyBool_FromLong(is_failed), *when = PyFloat_FromDouble(now);
    PyObject *result =
        when == NULL ? NULL : PyObject_CallMethodObjArgs((PyObject *)f, s_end_of_chain_source, flag, when, NULL);
    Py_XDECREF(when);
    Py_DECREF(flag);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* 1: done; 0: Direction._pump_chain has to go on from here; -1: error. */
static int pump_sole_stage(Fields *f, PyObject *chain, PyObject *held, PyObject *filter, PyObject *due)
{
    int turns = settings.turns;
    while (1) {
        double now = monotonic(), wake_at, ready_at;
        Py_ssize_t held_bytes, read_size;
        if (get_double(filter, s_wake_at, &wake_at) < 0)
            return -1;
        if (wake_at <= now)
            return 0;
        if (release(f, chain, held, now, 1) < 0)
            return -1;
        if (f->near_chain != chain)
            return is_none(f->near_chain) ? 1 : 0;
        if (!f->readable || f->out_bytes > settings.most_overdue)
            break;
        if (get_size(chain, s_held_bytes, &held_bytes) < 0 || get_double(filter, s_ready_at, &ready_at) < 0 ||
            get_size(chain, s_read_size, &read_size) < 0)
            return -1;
        /* The budget, a filter that wants no input, pipes for bulk: in Python. */
        if (held_bytes + f->out_bytes >= settings.always_allowed || ready_at > now ||
            f->big_reads >= settings.big_reads)
            return 0;
        if (read_size > BUFFER_SIZE)
            read_size = BUFFER_SIZE;
        Py_ssize_t size = take(f->source, read_size);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            f->paced_at = Py_HUGE_VAL;
            f->readable = 0;
            continue;
        }
        if (size <= 0)
            return end_of_chain_source(f, size < 0, now);
        double at = now < f->paced_at ? now : f->paced_at, until = 0.0;
        int failed;
        if (due != Py_None)
            failed = delay(chain, held, due, at, size, &until);
        else {
            PyObject *event = new_data(at, buffer, size);
            failed = event == NULL ? -1 : feed(chain, held, filter, event);
            Py_XDECREF(event);
        }
        if (failed)
            return -1;
        f->big_reads = size >= settings.bulk ? f->big_reads + 1 : 0;
        if (size < read_size) {
            f->paced_at = Py_HUGE_VAL;
            if (!f->ending) {
                f->readable = 0;
                /* What was due before has left, and what has come is not due: settled. */
                if (until > now)
                    break;
            }
        }
        if (--turns == 0) {
            if (call_method((PyObject *)f, s_pump_again) < 0)
                return -1;
            break;
        }
    }
    return settle(f, chain, held, filter) < 0 ? -1 : 1;
}

/* --- CHAIN: TLS that nothing looks into ----------------------------------------------------------- */

/* 1 if an attribute of the chain has no items; -1: error. */
static int lacks(PyObject *chain, PyObject *name)
{
    PyObject *items = PyObject_GetAttr(chain, name);
    Py_ssize_t size = items == NULL ? -1 : PyObject_Size(items);
    Py_XDECREF(items);
    return size < 0 ? -1 : size == 0;
}

/* As DirectionSource._pass_straight. 1: done; 0: Direction._pump_chain has to go on from here; -1: error. */
static int pass_straight(Fields *f)
{
    if (is_none(f->near_chain) || is_none(f->far_chain) || !is_none(f->out) || !is_none(f->gate))
        return 0;
    PyObject *chains[] = {f->near_chain, f->far_chain}, *names[] = {s_stages, s_incoming};
    for (int index = 0; index < 4; index++) {
        int passes = lacks(chains[index / 2], names[index % 2]);
        if (passes <= 0)
            return passes;
    }
    Py_ssize_t most;
    if (get_size(f->near_chain, s_read_size, &most) < 0)
        return -1;
    for (int turns = settings.turns; f->readable && f->writable;) {
        Passed passed;
        int failed = native_pass_straight(f->straight, f->source, f->target, most, &passed);
        if (failed)
            return failed < 0 ? -1 : 0;
        if (passed.got < 0) {
            if (passed.code != EAGAIN && passed.code != EWOULDBLOCK)
                return end_of_chain_source(f, 1, monotonic());
            f->readable = 0;
            return 1;
        }
        if (passed.got == 0)
            return 0; /* The chains read the end again. */
        if (passed.sent < 0)
            return call_method(f->link, s_reset) < 0 ? -1 : 1;
        f->moved += passed.sent;
        if (passed.rest != NULL) {
            failed = call_method_with((PyObject *)f, s_keep_rest, passed.rest);
            Py_DECREF(passed.rest);
            if (failed)
                return -1;
        }
        if (passed.is_irregular)
            return call_method((PyObject *)f, s__act_on_the_rest);
        if (passed.got < most && !f->ending) {
            f->readable = 0;
            return 1;
        }
        if (--turns == 0)
            return call_method((PyObject *)f, s_pump_again) < 0 ? -1 : 1;
    }
    return is_none(f->out);
}

#include "_native_http.c"
#include "_native_llm.c"

static int pump_chain(Fields *f)
{
    int done = 0;
    PyObject *chain = f->near_chain;
    if (f->direct && !is_none(f->straight) && Py_TYPE(f->straight) == straight_type)
        done = pass_straight(f);
    else if (f->direct && !is_none(f->whole) && is_none(f->gate) && is_none(f->straight))
        done = pump_layer(f);
    else if (f->direct && is_none(f->far_chain) && is_none(f->gate) && !is_none(chain)) {
        Py_INCREF(chain);
        PyObject *stage = PyObject_GetAttr(chain, s_sole), *incoming = PyObject_GetAttr(chain, s_incoming);
        if (stage == NULL || incoming == NULL)
            done = -1;
        else if (stage != Py_None && PyObject_Size(incoming) == 0) {
            PyObject *held = PyObject_GetAttr(stage, s_held), *filter = PyObject_GetAttr(stage, s_filter);
            PyObject *due = PyObject_GetAttr(stage, s_due);
            done = -1;
            if (held != NULL && filter != NULL && due != NULL)
                done = pump_sole_stage(f, chain, held, filter, due);
            Py_XDECREF(held);
            Py_XDECREF(filter);
            Py_XDECREF(due);
        }
        Py_XDECREF(stage);
        Py_XDECREF(incoming);
        Py_DECREF(chain);
    }
    if (done != 0)
        return done < 0 ? -1 : 0;
    if (f->mode == settings.shut)
        return 0;
    return call_method((PyObject *)f, f->mode == settings.chain ? s__pump_chain : s_pump);
}

int pump(Fields *f)
{
    if (f->mode == settings.chain)
        return pump_chain(f);
    if (f->direct && f->mode == settings.copy && is_none(f->out) && is_none(f->pipe_queue))
        return copy(f);
    return call_method((PyObject *)f, s_pump);
}

/* --- handlers ------------------------------------------------------------------------------------ */

static int handle(Fields *f, int flags)
{
    if (flags == READABLE) {
        f->readable = 1;
        return pump(f);
    }
    if (f->has_native_link)
        return link_event(f, flags);
    PyObject *number = PyLong_FromLong(flags);
    PyObject *result =
        number == NULL ? NULL
                       : PyObject_CallMethodObjArgs(f->link, s_socket_event, (PyObject *)f, number, NULL);
    Py_XDECREF(number);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static PyObject *fields_ready(PyObject *self, PyObject *flags)
{
    long number = PyLong_AsLong(flags);
    if ((number == -1 && PyErr_Occurred()) || handle((Fields *)self, (int)number) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int timer_due(Fields *f, double at)
{
    if (at != f->timer_at)
        return 0;
    f->timer_at = Py_HUGE_VAL;
    return f->mode == settings.shut ? 0 : pump(f);
}

static PyObject *fields_timer_due(PyObject *self, PyObject *at)
{
    double value = PyFloat_AsDouble(at);
    if ((value == -1.0 && PyErr_Occurred()) || timer_due((Fields *)self, value) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef fields_methods[] = {
    {"ready", fields_ready, METH_O, "Handle an event of the source socket."},
    {"_timer_due", fields_timer_due, METH_O, "Pump, if this is the latest timer."},
    {NULL, NULL, 0, NULL},
};

PyObject *ready_of(Fields *f) { return PyCFunction_New(&fields_methods[0], (PyObject *)f); }

void shut_direction(Fields *f)
{
    PyObject *mode = f->mode;
    Py_INCREF(settings.shut);
    f->mode = settings.shut;
    Py_XDECREF(mode);
    Py_CLEAR(f->out);
}

static PyType_Slot fields_slots[] = {
    {Py_tp_doc, "The fields of a direction, and the handlers of its events."},
    {Py_tp_init, fields_init},
    {Py_tp_members, fields_members},
    {Py_tp_methods, fields_methods},
    {Py_tp_traverse, fields_traverse},
    {Py_tp_clear, fields_clear},
    {Py_tp_dealloc, fields_dealloc},
    {0, NULL},
};

static PyType_Spec fields_spec = {
    "faultkit.proxy._native.DirectionFields",
    sizeof(Fields),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    fields_slots,
};

/* --- the loop ------------------------------------------------------------------------------------ */

/* Wait for events, with nanoseconds. Returns their number, or -1 with an exception. */
static int wait_for_events(int epoll, struct epoll_event *events, int forever, double seconds)
{
    static int has_pwait2 = 1;
    struct timespec timeout = {0, 0};
    int count, code;
    if (seconds > 0) {
        timeout.tv_sec = (time_t)seconds;
        timeout.tv_nsec = (long)ceil((seconds - (double)timeout.tv_sec) * 1e9);
        if (timeout.tv_nsec >= 1000000000L) {
            timeout.tv_sec++;
            timeout.tv_nsec = 0;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    count = -1;
    errno = ENOSYS;
    if (forever || seconds <= 0)
        count = epoll_wait(epoll, events, MOST_EVENTS, forever ? -1 : 0);
    else if (has_pwait2)
        count = (int)syscall(SYS_epoll_pwait2, epoll, events, MOST_EVENTS, &timeout, NULL, (size_t)0);
    /* Linux before 5.11; a container whose filter of system calls does not know it answers EPERM. */
    if (count < 0 && (errno == ENOSYS || (errno == EPERM && has_pwait2))) {
        has_pwait2 = 0;
        struct pollfd waiting = {epoll, POLLIN, 0};
        count = ppoll(&waiting, 1, &timeout, NULL);
        if (count > 0)
            count = epoll_wait(epoll, events, MOST_EVENTS, 0);
    }
    code = errno;
    Py_END_ALLOW_THREADS
    if (count >= 0)
        return count;
    if (code == EINTR)
        return PyErr_CheckSignals() < 0 ? -1 : 0;
    errno = code;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

/* Give a raised Exception to Loop._failed. Anything else (KeyboardInterrupt) ends the loop: -1. */
int report_failure(PyObject *loop, PyObject *on_failure)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace != NULL)
        PyException_SetTraceback(error, trace);
    PyObject *handled = PyErr_GetHandledException();
    PyErr_SetHandledException(error); /* The log asks for the exception that is being handled. */
    PyObject *result = PyObject_CallMethodObjArgs(loop, s__failed, error, on_failure, NULL);
    PyErr_SetHandledException(handled);
    Py_XDECREF(handled);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* `abort` of the object whose method failed, or None. */
static PyObject *abort_of(PyObject *handler)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyObject *owner = PyObject_GetAttrString(handler, "__self__");
    PyObject *abort = owner == NULL ? NULL : PyObject_GetAttr(owner, s_abort);
    PyErr_Clear();
    PyErr_Restore(type, error, trace);
    Py_XDECREF(owner);
    if (abort == NULL) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return abort;
}

/* Return the direction if `callable` is this method of one, so that it can be called without Python objects. */
static Fields *direction_of(PyObject *callable, PyCFunction method)
{
    if (Py_TYPE(callable) != &PyCFunction_Type || PyCFunction_GetFunction(callable) != method)
        return NULL;
    return (Fields *)PyCFunction_GetSelf(callable);
}

static int handle_event(PyObject *loop, PyObject *handlers, int fd, int flags)
{
    PyObject *key = PyLong_FromLong(fd);
    if (key == NULL)
        return -1;
    PyObject *handler = PyDict_GetItemWithError(handlers, key);
    Py_DECREF(key);
    if (handler == NULL) /* Closed earlier in the same round. */
        return PyErr_Occurred() ? -1 : 0;
    Py_INCREF(handler);
    Fields *direction = direction_of(handler, fields_ready);
    int failed;
    if (direction != NULL)
        failed = handle(direction, flags);
    else {
        PyObject *number = PyLong_FromLong(flags);
        PyObject *result = number == NULL ? NULL : PyObject_CallFunctionObjArgs(handler, number, NULL);
        failed = result == NULL ? -1 : 0;
        Py_XDECREF(number);
        Py_XDECREF(result);
    }
    if (failed) {
        PyObject *abort = abort_of(handler);
        failed = report_failure(loop, abort);
        Py_DECREF(abort);
    }
    Py_DECREF(handler);
    return failed;
}

static int timer_at(PyObject *timers, double *at)
{
    PyObject *first = PyList_GetItem(timers, 0);
    PyObject *when = first == NULL ? NULL : PyTuple_GetItem(first, 0);
    if (when == NULL)
        return -1;
    *at = PyFloat_AsDouble(when);
    return *at == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int run_timers(PyObject *loop, PyObject *timers)
{
    double now = monotonic(), at;
    while (PyList_Size(timers) > 0) {
        if (timer_at(timers, &at) < 0)
            return -1;
        if (at > now)
            break;
        PyObject *timer = PyObject_CallFunctionObjArgs(heappop, timers, NULL);
        if (timer == NULL)
            return -1;
        PyObject *callback = PyTuple_GetItem(timer, 2);
        Fields *direction = direction_of(callback, fields_timer_due);
        int failed;
        if (direction != NULL)
            failed = timer_due(direction, at);
        else {
            PyObject *result = PyObject_CallFunctionObjArgs(callback, PyTuple_GetItem(timer, 0), NULL);
            failed = result == NULL ? -1 : 0;
            Py_XDECREF(result);
        }
        if (failed)
            failed = report_failure(loop, PyTuple_GetItem(timer, 3));
        Py_DECREF(timer);
        if (failed)
            return -1;
    }
    return 0;
}

static int run_soon(PyObject *loop, PyObject *soon)
{
    for (Py_ssize_t left = PyObject_Size(soon); left > 0; left--) {
        PyObject *item = PyObject_CallMethodObjArgs(soon, s_popleft, NULL);
        if (item == NULL)
            return -1;
        PyObject *result = PyObject_CallFunctionObjArgs(PyTuple_GetItem(item, 0), NULL);
        int failed = result == NULL ? report_failure(loop, PyTuple_GetItem(item, 1)) : 0;
        Py_XDECREF(result);
        Py_DECREF(item);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *rounds(PyObject *loop, int epoll, PyObject *handlers, PyObject *timers, PyObject *soon)
{
    struct epoll_event events[MOST_EVENTS];
    while (1) {
        PyObject *running = PyObject_GetAttr(loop, s__running);
        if (running == NULL)
            return NULL;
        int goes_on = running == Py_True;
        Py_DECREF(running);
        if (!goes_on)
            Py_RETURN_NONE;
        double seconds = 0.0, at;
        int forever = 0;
        if (PyObject_Size(soon) == 0) {
            if (PyList_Size(timers) == 0)
                forever = 1;
            else if (timer_at(timers, &at) < 0)
                return NULL;
            else
                seconds = at - monotonic();
        }
        int count = wait_for_events(epoll, events, forever, seconds);
        if (count < 0)
            return NULL;
        for (int index = 0; index < count; index++)
            if (handle_event(loop, handlers, events[index].data.fd, (int)events[index].events) < 0)
                return NULL;
        if ((PyList_Size(timers) > 0 && run_timers(loop, timers) < 0) || run_soon(loop, soon) < 0)
            return NULL;
    }
}

static PyObject *run_rounds(PyObject *module, PyObject *args)
{
    PyObject *loop, *handlers, *timers, *soon;
    int epoll;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiO!O!O", &loop, &epoll, &PyDict_Type, &handlers, &PyList_Type, &timers, &soon))
        return NULL;
    PyObject *result = rounds(loop, epoll, handlers, timers, soon);
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    forget_services();
    PyErr_Restore(type, error, trace);
    return result;
}

/* --- the module ---------------------------------------------------------------------------------- */

static PyObject *configure(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"copy",           "chain", "shut",      "data",        "chunk", "bulk", "most_overdue",
                            "always_allowed", "turns", "big_reads", "most_recent", NULL};
    (void)module;
    PyObject *copy_mode, *chain_mode, *shut_mode, *data;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOnnnniii", names, &copy_mode, &chain_mode, &shut_mode, &data,
                                     &settings.chunk, &settings.bulk, &settings.most_overdue,
                                     &settings.always_allowed, &settings.turns, &settings.big_reads,
                                     &settings.most_recent))
        return NULL;
    if (settings.chunk > BUFFER_SIZE) {
        PyErr_SetString(PyExc_ValueError, "chunk: expected at most the size of the buffer");
        return NULL;
    }
    PyObject **kept[] = {&settings.copy, &settings.chain, &settings.shut, &settings.data};
    PyObject *given[] = {copy_mode, chain_mode, shut_mode, data};
    for (int index = 0; index < 4; index++) {
        Py_INCREF(given[index]);
        Py_XDECREF(*kept[index]);
        *kept[index] = given[index];
    }
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "Set the constants that the directions use."},
    {"run_rounds", run_rounds, METH_VARARGS, "Run a loop until it is stopped."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "faultkit.proxy._native", "Hot paths of the proxy.", -1, module_methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
#define INTERN(name)                                                                                         \
    if ((s_##name = PyUnicode_InternFromString(#name)) == NULL)                                              \
        return NULL;
    NAMES(INTERN)
    PyObject *heapq = PyImport_ImportModule("_heapq");
    if (heapq == NULL)
        return NULL;
    heappush = PyObject_GetAttrString(heapq, "heappush");
    heappop = PyObject_GetAttrString(heapq, "heappop");
    Py_DECREF(heapq);
    PyObject *module = PyModule_Create(&module_definition);
    PyObject *fields = PyType_FromSpec(&fields_spec);
    straight_type = native_straight_type();
    if (straight_type == NULL || heappush == NULL || heappop == NULL || module == NULL || fields == NULL ||
        PyModule_AddFunctions(module, native_socket_methods) < 0 || PyModule_AddFunctions(module, llm_methods) < 0 ||
        PyModule_AddObject(module, "DirectionFields", fields) < 0 || PyModule_AddType(module, straight_type) < 0 ||
        add_link_types(module) < 0 ||
        PyModule_AddIntConstant(module, "REVISION", REVISION) < 0)
        return NULL;
    return module;
}

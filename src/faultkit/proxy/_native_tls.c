/* TLS that nothing looks into: from one socket through one or two legs (`tls.TlsLeg`) to the other.
 *
 * The bytes go through the objects of Python's module `ssl`, whose methods are called from here: this extension is
 * not linked with a TLS library. What is not data (an end, an alert, a key update) is left to the legs, in
 * Python. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <sys/socket.h>

#include "_native_tls.h"

#define MOST_READ 262144
#define RECORD 16384
#define MOST_PLAIN (MOST_READ + 4 * RECORD)
/* Up to here a copy costs less than an object that refers to the bytes. */
#define SMALL 2048

/* The methods of TLS objects release the interpreter's lock while they work, and a process may have several loops: one
 * that finds the buffers in use takes the way in Python. */
static char received[MOST_READ], plain[MOST_PLAIN];
static int in_use;
static PyObject *pending_name;
static PyObject *first_read; /* Arguments of `read` for the first record. */

typedef struct {
    PyObject_HEAD
    PyObject *convert; /* The same in Python. */
    /* The leg that reads, or NULL. */
    PyObject *incoming, *feed, *read, *strays, *note_failure;
    /* The leg that writes, or NULL. */
    PyObject *write, *records;
    PyObject *want_read; /* The exception for a record that is not whole. */
} Straight;

static void straight_dealloc(PyObject *self)
{
    Straight *s = (Straight *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(s->convert);
    Py_XDECREF(s->incoming);
    Py_XDECREF(s->feed);
    Py_XDECREF(s->read);
    Py_XDECREF(s->strays);
    Py_XDECREF(s->note_failure);
    Py_XDECREF(s->write);
    Py_XDECREF(s->records);
    Py_XDECREF(s->want_read);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Arguments of `read` for a record that goes to this place. */
static PyObject *read_arguments(char *place)
{
    PyObject *view = PyMemoryView_FromMemory(place, RECORD, PyBUF_WRITE);
    return view == NULL ? NULL : Py_BuildValue("(iN)", RECORD, view);
}

/* Straight(convert, want_read, reading, writing): each leg is None or a tuple.
 * reading: incoming and outgoing MemoryBIO, TLS object, function for an exception
 * writing: outgoing MemoryBIO, TLS object */
static PyObject *straight_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *convert, *want_read, *reading, *writing, *incoming, *outgoing, *tls, *note_failure;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOO", &convert, &want_read, &reading, &writing))
        return NULL;
    if (reading == Py_None && writing == Py_None) {
        PyErr_SetString(PyExc_ValueError, "expected one leg at least");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Straight *s = (Straight *)allocate(type, 0);
    if (s == NULL)
        return NULL;
    Py_INCREF(convert);
    s->convert = convert;
    Py_INCREF(want_read);
    s->want_read = want_read;
    int failed = 0;
    if (reading != Py_None) {
        failed = !PyArg_ParseTuple(reading, "OOOO", &incoming, &outgoing, &tls, &note_failure);
        if (!failed) {
            Py_INCREF(incoming);
            s->incoming = incoming;
            Py_INCREF(outgoing);
            s->strays = outgoing;
            Py_INCREF(note_failure);
            s->note_failure = note_failure;
            s->feed = PyObject_GetAttrString(incoming, "write");
            s->read = PyObject_GetAttrString(tls, "read");
            failed = s->feed == NULL || s->read == NULL;
        }
    }
    if (!failed && writing != Py_None) {
        failed = !PyArg_ParseTuple(writing, "OO", &outgoing, &tls);
        if (!failed) {
            s->write = PyObject_GetAttrString(tls, "write");
            s->records = PyObject_GetAttrString(outgoing, "read");
            failed = s->write == NULL || s->records == NULL;
        }
    }
    if (failed)
        Py_CLEAR(s);
    return (PyObject *)s;
}

static PyObject *straight_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call(((Straight *)self)->convert, args, kwargs);
}

/* Call a method with bytes. */
static int give_bytes(PyObject *method, char *bytes, Py_ssize_t size)
{
    PyObject *given = size <= SMALL ? PyBytes_FromStringAndSize(bytes, size)
                                    : PyMemoryView_FromMemory(bytes, size, PyBUF_READ);
    PyObject *result = given == NULL ? NULL : PyObject_CallFunctionObjArgs(method, given, NULL);
    Py_XDECREF(given);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Return the number of bytes in a MemoryBIO, or -1. */
static Py_ssize_t pending(PyObject *bio)
{
    PyObject *number = PyObject_GetAttr(bio, pending_name);
    Py_ssize_t size = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    return size;
}

/* After an exception of `read`: 0 if more bytes are needed, 1 if the leg has noted it, -1 if it goes on. */
static int note_failure(Straight *s)
{
    if (PyErr_ExceptionMatches(s->want_read)) {
        PyErr_Clear();
        return 0;
    }
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *result = PyObject_CallFunctionObjArgs(s->note_failure, error, NULL);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    Py_XDECREF(result);
    return result == NULL ? -1 : 1;
}

/* Decrypt what was received. Returns the number of plain bytes, or -1. */
static Py_ssize_t decrypt(Straight *s, Py_ssize_t size, int *is_irregular)
{
    Py_ssize_t total = 0, left = 1;
    if (give_bytes(s->feed, received, size) < 0)
        return -1;
    while (left > 0) {
        if (total + RECORD > MOST_PLAIN) {
            PyErr_SetString(PyExc_RuntimeError, "TLS: more plain bytes than records");
            return -1;
        }
        PyObject *arguments = total == 0 ? first_read : read_arguments(plain + total);
        PyObject *number = arguments == NULL ? NULL : PyObject_Call(s->read, arguments, NULL);
        if (total != 0)
            Py_XDECREF(arguments);
        if (number == NULL) {
            int noted = note_failure(s);
            if (noted < 0)
                return -1;
            *is_irregular = noted;
            break;
        }
        Py_ssize_t count = PyLong_AsSsize_t(number);
        Py_DECREF(number);
        if (count < 0)
            return -1;
        if (count == 0) { /* The end of the stream. */
            *is_irregular = 1;
            break;
        }
        total += count;
        /* To find this out by an exception would cost more than the decryption. */
        if ((left = pending(s->incoming)) < 0)
            return -1;
    }
    Py_ssize_t strays = pending(s->strays);
    if (strays < 0)
        return -1;
    if (strays > 0)
        *is_irregular = 1;
    return total;
}

static Py_ssize_t give(int target, const char *bytes, Py_ssize_t size)
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

static int give_all(int target, const char *bytes, Py_ssize_t size, Passed *passed)
{
    passed->sent = give(target, bytes, size);
    if (passed->sent < 0 || passed->sent == size)
        return 0;
    passed->rest = PyBytes_FromStringAndSize(bytes + passed->sent, size - passed->sent);
    return passed->rest == NULL ? -1 : 0;
}

static int encrypt_and_give(Straight *s, int target, char *bytes, Py_ssize_t size, Passed *passed)
{
    if (give_bytes(s->write, bytes, size) < 0)
        return -1;
    PyObject *records = PyObject_CallFunctionObjArgs(s->records, NULL);
    char *start;
    Py_ssize_t length;
    int failed = records == NULL || PyBytes_AsStringAndSize(records, &start, &length) < 0 ||
                 give_all(target, start, length, passed) < 0;
    Py_XDECREF(records);
    return failed ? -1 : 0;
}

static int pass(Straight *s, int source, int target, Py_ssize_t most, Passed *passed)
{
    do
        passed->got = recv(source, received, (size_t)(most < MOST_READ ? most : MOST_READ), 0);
    while (passed->got < 0 && errno == EINTR);
    passed->code = errno;
    if (passed->got <= 0)
        return 0;
    char *bytes = received;
    Py_ssize_t size = passed->got;
    if (s->read != NULL) {
        bytes = plain;
        size = decrypt(s, size, &passed->is_irregular);
    }
    if (size <= 0)
        return size < 0 ? -1 : 0;
    if (s->write != NULL)
        return encrypt_and_give(s, target, bytes, size, passed);
    return give_all(target, bytes, size, passed);
}

int native_pass_straight(PyObject *straight, int source, int target, Py_ssize_t most, Passed *passed)
{
    *passed = (Passed){0};
    if (in_use)
        return 1;
    in_use = 1;
    Py_INCREF(straight);
    int failed = pass((Straight *)straight, source, target, most, passed);
    Py_DECREF(straight);
    in_use = 0;
    return failed;
}

static PyType_Slot straight_slots[] = {
    {Py_tp_doc, "The way through one or two legs of TLS; called with bytes, it does the same in Python."},
    {Py_tp_new, straight_new},
    {Py_tp_call, straight_call},
    {Py_tp_dealloc, straight_dealloc},
    {0, NULL},
};

static PyType_Spec straight_spec = {
    "faultkit.proxy._native.Straight", sizeof(Straight), 0, Py_TPFLAGS_DEFAULT, straight_slots,
};

PyTypeObject *native_straight_type(void)
{
    pending_name = PyUnicode_InternFromString("pending");
    first_read = read_arguments(plain);
    return pending_name == NULL || first_read == NULL ? NULL : (PyTypeObject *)PyType_FromSpec(&straight_spec);
}

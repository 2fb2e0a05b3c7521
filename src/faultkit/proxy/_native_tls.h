/* What `_native.c` needs of `_native_tls.c`. */

#ifndef FAULTKIT_NATIVE_TLS_H
#define FAULTKIT_NATIVE_TLS_H

typedef struct {
    Py_ssize_t got;   /* Bytes that were received: 0 at the end of the stream, -1 with `code`. */
    int code;         /* errno of the failed call. */
    Py_ssize_t sent;  /* Bytes that the target took; -1: it has failed. */
    PyObject *rest;   /* What it did not take, or NULL. */
    int is_irregular; /* The legs have more to do than to pass on bytes: as `Irregular`. */
} Passed;

/* Receive once, convert, and send. 0: done; 1: to be done in Python; -1: an exception. */
int native_pass_straight(PyObject *straight, int source, int target, Py_ssize_t most, Passed *passed);

PyTypeObject *native_straight_type(void);

#endif

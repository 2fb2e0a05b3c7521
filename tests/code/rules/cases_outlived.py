"""Work that goes on after its request, with what ends with the request."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "request-outlived"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package api

        import "net/http"

        func (h *Handler) Create(w http.ResponseWriter, r *http.Request) {
        	go h.mailer.Confirm(r.Context(), "a")
        	ctx := r.Context()
        	go func() {
        		h.audit.Write(ctx, "b")
        	}()
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        6,
        8,
    ),
    good(
        _RULE,
        "go",
        """
        package api

        import "net/http"

        func (h *Handler) Create(w http.ResponseWriter, r *http.Request) {
        	go h.mailer.Confirm(context.WithoutCancel(r.Context()), "a")
        	go h.count("b")
        	w.WriteHeader(http.StatusCreated)
        }

        func (h *Handler) Both(w http.ResponseWriter, r *http.Request) {
        	var wg sync.WaitGroup
        	go h.load(r.Context(), &wg)
        	wg.Wait()
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        from fastapi import BackgroundTasks, Depends, FastAPI
        from sqlalchemy.orm import Session

        app = FastAPI()

        @app.post("/orders")
        def create(tasks: BackgroundTasks, db: Session = Depends(get_db)):
            tasks.add_task(index, db, 5)
            return {}
        """,
        8,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading
        from flask import Flask, request

        app = Flask(__name__)

        def note():
            audit.write(request.path)

        @app.post("/orders")
        def create():
            threading.Thread(target=note).start()
            return {}
        """,
        11,
    ),
    good(
        _RULE,
        "python",
        """
        import threading
        from fastapi import BackgroundTasks, Depends, FastAPI
        from flask import Flask, request
        from sqlalchemy.orm import Session

        app = FastAPI()

        @app.post("/orders")
        def create(tasks: BackgroundTasks, db: Session = Depends(get_db)):
            order = db.get(Order, 5)
            tasks.add_task(index, order.id)
            return {}

        def note(path):
            audit.write(path)

        def answer():
            threading.Thread(target=note, args=(request.path,)).start()
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Orders {
            @PostMapping("/orders")
            void create(HttpServletRequest request) {
                executor.submit(() -> audit.write(request.getRemoteAddr()));
            }
        }
        """,
        4,
    ),
    good(
        _RULE,
        "java",
        """
        class Orders {
            @PostMapping("/orders")
            void create(HttpServletRequest request) {
                String address = request.getRemoteAddr();
                executor.submit(() -> audit.write(address));
            }
        }
        """,
    ),
]

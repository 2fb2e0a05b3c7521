"""Loops that look busy and wait in a call, run once, or do their work in the condition."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SPINS = "busy-loop"

CASES = [
    good(
        _SPINS,
        "go",
        """
        package watch

        func run(ctx context.Context, changed chan struct{}) {
        	for {
        		if err := nextHop(ctx); err != nil {
        			return
        		}
        		select {
        		case changed <- struct{}{}:
        		default:
        		}
        	}
        }
        """,
    ),
    bad(
        _SPINS,
        "go",
        """
        package watch

        func run(ctx context.Context, changed chan struct{}, jobs chan Job) {
        	last := time.Now()
        	for {
        		select {
        		case job := <-jobs:
        			job.Run()
        		default:
        		}
        		if time.Since(last) > limit {
        			last = time.Now()
        		}
        	}
        }
        """,
        9,
    ),
    good(
        _SPINS,
        "go",
        """
        package watch

        func (w *Watch) start(ctx context.Context, out chan string) {
        	input := make(chan Event, 10)
        	go func() {
        		defer close(input)
        		for {
        			select {
        			case event := <-input:
        				out <- event.Path()
        			case <-ctx.Done():
        				return
        			}
        		}
        	}()
        }
        """,
    ),
    good(
        _SPINS,
        "typescript",
        """
        class Login {
          login(user: User) {
            setImmediate(async () => {
              const row = await this.logins.findOne({ id: user.id });
              this.bus.publish(user.id, 'login', row);
            });
          }
        }
        """,
    ),
    good(
        _SPINS,
        "rust",
        """
        impl Reader {
            fn skip(&mut self, depth: u32) -> Result<()> {
                while {
                    self.next::<Ignored>()?;
                    depth != self.depth
                } {}
                Ok(())
            }
        }
        """,
    ),
]

"""What rules find through a helper, a constant, a wrapper or a type of the same text."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    # Clients that a factory of the text makes for each call: the call of the factory is the place.
    bad(
        "http-client-per-call",
        "java",
        """
        import software.amazon.awssdk.services.sqs.SqsClient;

        class Outbox {
            private SqsClient connect() {
                return SqsClient.builder().region(region).build();
            }

            void send(Order order) {
                try (SqsClient sqs = connect()) {
                    sqs.sendMessage(request(order));
                }
            }
        }
        """,
        9,
    ),
    bad(
        "http-client-per-call",
        "go",
        """
        package rates

        import "google.golang.org/grpc"

        func open(target string) (*grpc.ClientConn, error) {
        	channel, err := grpc.NewClient(target)
        	if err != nil {
        		return nil, err
        	}
        	return channel, nil
        }

        func (r *Rates) Of(ctx context.Context, code string) (float64, error) {
        	channel, err := open(r.target)
        	if err != nil {
        		return 0, err
        	}
        	defer channel.Close()
        	return ask(ctx, channel, code)
        }
        """,
        14,
    ),
    # Patterns of a table of constants.
    bad(
        "compiled-per-call",
        "rust",
        """
        use regex::Regex;

        fn mask_all(line: &str) -> String {
            let mut kept = line.to_string();
            for expression in PATTERNS {
                let found = Regex::new(expression).unwrap();
                kept = found.replace_all(&kept, "*").into_owned();
            }
            kept
        }
        """,
        6,
    ),
    good(
        "compiled-per-call",
        "rust",
        """
        use regex::Regex;

        fn mask_all(line: &str, given: &[String]) -> String {
            let mut kept = line.to_string();
            for expression in given {
                let found = Regex::new(expression).unwrap();
                kept = found.replace_all(&kept, "*").into_owned();
            }
            kept
        }
        """,
    ),
    bad(
        "key-scan",
        "javascript",
        """
        async function forget(redis, shop) {
          const wanted = `shop:${shop}:*`;
          for (const key of await redis.keys(wanted)) await redis.unlink(key);
        }
        """,
        3,
    ),
    bad(
        "unbounded-labels",
        "java",
        """
        import io.micrometer.core.instrument.Timer;

        class Web {
            Timer of(HttpServletRequest request) {
                return Timer.builder("web").tag("uri", request.getRequestURI()).register(registry);
            }
        }
        """,
        5,
    ),
    good(
        "unbounded-labels",
        "java",
        """
        import io.micrometer.core.instrument.Timer;

        class Web {
            Timer of(HttpServletRequest request) {
                return Timer.builder("web").tag("method", request.getMethod()).register(registry);
            }
        }
        """,
    ),
]

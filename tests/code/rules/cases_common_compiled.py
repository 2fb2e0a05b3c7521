"""Defects as services in Go and Java have them."""

# ruff: noqa: E501  (code of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import (
            "encoding/json"
            "log"
            "net/http"
        )

        type apiResponse struct {
            OK    bool   `json:"ok"`
            Error string `json:"error,omitempty"`
        }

        func (s *Server) handleCreate(w http.ResponseWriter, r *http.Request) {
            if err := s.store.Create(r.Context()); err != nil {
                log.Printf("create: %v", err)
                json.NewEncoder(w).Encode(apiResponse{OK: false, Error: err.Error()})
                return
            }
            json.NewEncoder(w).Encode(apiResponse{OK: true})
        }
    """,
        17,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import (
            "fmt"
            "net/http"
        )

        func quote(w http.ResponseWriter, r *http.Request) {
            q, err := fetchQuote(r.Context())
            if err != nil {
                fmt.Fprintf(w, "error: %v", err)
                return
            }
            fmt.Fprint(w, q)
        }
    """,
        11,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
        @RestController
        @RequestMapping("/api")
        public class QuoteController {
            @GetMapping("/quote")
            public Map<String, Object> quote() {
                Map<String, Object> body = new HashMap<>();
                try {
                    body.put("quote", service.quote());
                } catch (Exception e) {
                    log.error("quote failed", e);
                    body.put("error", e.getMessage());
                }
                return body;
            }
        }
    """,
        11,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
        @RestController
        public class PayController {
            @PostMapping("/pay")
            public ResponseEntity<ApiResponse> pay(@RequestBody PayRequest request) {
                try {
                    return ResponseEntity.ok(ApiResponse.success(service.pay(request)));
                } catch (PaymentException e) {
                    return ResponseEntity.ok(ApiResponse.error(e.getMessage()));
                }
            }
        }
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
        @Path("/pay")
        public class PayResource {
            @POST
            public Response pay(PayRequest request) {
                try {
                    return Response.ok(service.pay(request)).build();
                } catch (PaymentException e) {
                    return Response.ok(new ErrorBody(e.getMessage())).build();
                }
            }
        }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package auth

        import (
            "log"
            "net/http"
        )

        func Login(w http.ResponseWriter, r *http.Request) {
            user := r.FormValue("user")
            password := r.FormValue("password")
            log.Printf("login user=%s password=%s", user, password)
        }
    """,
        11,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package client

        import (
            "go.uber.org/zap"
        )

        func (c *Client) Do() error {
            c.logger.Info("calling api", zap.String("token", c.token), zap.String("url", c.url))
            return nil
        }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package mw

        import (
            "log/slog"
            "net/http"
        )

        func Logging(next http.Handler) http.Handler {
            return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
                slog.Info("request", "path", r.URL.Path, "authorization", r.Header.Get("Authorization"))
                next.ServeHTTP(w, r)
            })
        }
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        public class TokenService {
            private static final Logger LOG = LoggerFactory.getLogger(TokenService.class);
            public String exchange(String code) {
                TokenResponse response = client.exchange(code);
                LOG.info("received access token {}", response.getAccessToken());
                return response.getAccessToken();
            }
        }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        @Slf4j
        @Service
        public class LoginService {
            public boolean login(String username, String password) {
                log.debug("Login attempt: " + username + "/" + password);
                return repository.matches(username, password);
            }
        }
    """,
        5,
    ),
    bad(
        "catastrophic-expression",
        "java",
        """
        public class Validator {
            private static final Pattern P = Pattern.compile("^(([a-z])+.)+[A-Z]([a-z])+$");
            public boolean ok(String s) { return P.matcher(s).matches(); }
        }
    """,
        2,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        import (
            "context"
            "time"
        )

        func Query(ctx context.Context, q string) (string, error) {
            ch := make(chan string)
            errCh := make(chan error)
            go func() {
                r, err := slow(q)
                if err != nil {
                    errCh <- err
                    return
                }
                ch <- r
            }()
            select {
            case r := <-ch:
                return r, nil
            case err := <-errCh:
                return "", err
            case <-time.After(2 * time.Second):
                return "", context.DeadlineExceeded
            }
        }
    """,
        14,
        17,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        func First(urls []string) string {
            results := make(chan string)
            for _, u := range urls {
                go func(u string) {
                    results <- fetch(u)
                }(u)
            }
            return <-results
        }
    """,
        7,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        func process(items []int) error {
            jobs := make(chan int)
            for i := 0; i < 4; i++ {
                go func() {
                    for j := range jobs {
                        work(j)
                    }
                }()
            }
            for _, it := range items {
                jobs <- it
            }
            return nil
        }
    """,
        7,
    ),
    bad(
        "waitgroup-add-inside-goroutine",
        "go",
        """
        package a

        import "sync"

        func run(tasks []func()) {
            wg := &sync.WaitGroup{}
            for _, t := range tasks {
                go func(t func()) {
                    wg.Add(1)
                    defer wg.Done()
                    t()
                }(t)
            }
            wg.Wait()
        }
    """,
        9,
    ),
    bad(
        "timer-made-in-every-round",
        "go",
        """
        package a

        import "time"

        func loop(events <-chan string, done <-chan struct{}) {
            for {
                select {
                case e := <-events:
                    handle(e)
                case <-time.After(30 * time.Second):
                    flush()
                case <-done:
                    return
                }
            }
        }
    """,
        10,
    ),
    bad(
        "released-on-success-only",
        "java",
        """
        public class UserDao {
            private final DataSource dataSource;
            public User find(long id) throws SQLException {
                Connection connection = dataSource.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT * FROM users WHERE id = ?");
                statement.setLong(1, id);
                ResultSet rs = statement.executeQuery();
                User user = rs.next() ? map(rs) : null;
                rs.close();
                statement.close();
                connection.close();
                return user;
            }
        }
    """,
        4,
    ),
    bad(
        "file-not-closed",
        "java",
        """
        public class Config {
            public Properties load(String path) throws IOException {
                Properties properties = new Properties();
                InputStream in = new FileInputStream(path);
                properties.load(in);
                return properties;
            }
        }
    """,
        4,
    ),
    bad(
        "request-in-transaction",
        "java",
        """
        @Service
        public class OrderService {
            private final OrderRepository orders;
            private final RestTemplate restTemplate;
            @Transactional
            public Order place(OrderRequest request) {
                Order order = orders.save(new Order(request));
                PaymentResponse response = restTemplate.postForObject(paymentUrl, order, PaymentResponse.class);
                order.setPaymentId(response.getId());
                return orders.save(order);
            }
        }
    """,
        8,
    ),
    bad(
        "shared-date-format",
        "java",
        """
        public class Dates {
            public static final SimpleDateFormat ISO = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss");
            public static String today() { return ISO.format(new Date()); }
        }
    """,
        2,
    ),
    bad(
        "acknowledged-before-work",
        "java",
        """
        @Component
        public class Consumer {
            @RabbitListener(queues = "orders")
            public void onMessage(Message message, Channel channel) throws IOException {
                channel.basicAck(message.getMessageProperties().getDeliveryTag(), false);
                Order order = mapper.readValue(message.getBody(), Order.class);
                orderService.process(order);
            }
        }
    """,
        5,
    ),
    bad(
        "grpc-call-without-deadline",
        "go",
        """
        package client

        import (
            "context"

            "google.golang.org/grpc"
            pb "example.com/proto"
        )

        type Client struct{ api pb.UserServiceClient }

        func New(conn *grpc.ClientConn) *Client { return &Client{api: pb.NewUserServiceClient(conn)} }

        func (c *Client) Get(id string) (*pb.User, error) {
            return c.api.GetUser(context.Background(), &pb.GetUserRequest{Id: id})
        }
    """,
        15,
    ),
    bad(
        "lost-update",
        "java",
        """
        @Service
        public class AccountService {
            @Transactional
            public void withdraw(Long id, BigDecimal amount) {
                Account account = repository.findById(id).orElseThrow();
                account.setBalance(account.getBalance().subtract(amount));
                repository.save(account);
            }
        }
    """,
        6,
    ),
    bad(
        "lost-update",
        "go",
        """
        package a
        func (s *Service) Withdraw(id uint, amount int64) error {
            var acc Account
            if err := s.db.First(&acc, id).Error; err != nil {
                return err
            }
            acc.Balance -= amount
            return s.db.Save(&acc).Error
        }
    """,
        7,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a
        func worker(jobs <-chan int, quit <-chan bool) {
            for {
                select {
                case j := <-jobs:
                    process(j)
                case <-quit:
                    return
                default:
                }
            }
        }
    """,
        4,
    ),
    bad(
        "busy-loop",
        "java",
        """
        public class Worker implements Runnable {
            public void run() {
                while (running) {
                    Job job = queue.poll();
                    if (job != null) {
                        job.execute();
                    }
                }
            }
        }
    """,
        3,
    ),
    bad(
        "shared-mutable-state",
        "java",
        """
        @RestController
        public class CounterController {
            private final Map<String, Integer> counts = new HashMap<>();
            @PostMapping("/hit/{name}")
            public int hit(@PathVariable String name) {
                counts.put(name, counts.getOrDefault(name, 0) + 1);
                return counts.get(name);
            }
        }
    """,
        6,
    ),
    bad(
        "shared-mutable-state",
        "java",
        """
        @RestController
        public class CounterController {
            private int hits = 0;
            @GetMapping("/hit")
            public int hit() {
                hits++;
                return hits;
            }
        }
    """,
        6,
    ),
    bad(
        "no-graceful-shutdown",
        "go",
        """
        package main
        import "github.com/gin-gonic/gin"
        func main() {
            r := gin.Default()
            r.GET("/ping", ping)
            r.Run(":8080")
        }
    """,
        6,
    ),
]

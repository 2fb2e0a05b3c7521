"""Defects as services in Java have them."""

# ruff: noqa: E501  (code of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
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
        4,
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
        "error-answered-as-success",
        "java",
        """
        @RestController
        class Rates {
          @GetMapping("/rates/{c}")
          ResponseEntity<Map<String, Object>> rate(@PathVariable String c) {
            try {
              return ResponseEntity.ok(Map.of("rate", client.rate(c)));
            } catch (IOException e) {
              Map<String, Object> body = new HashMap<>();
              body.put("error", "unavailable");
              return new ResponseEntity<>(body, HttpStatus.OK);
            }
          }
        }
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        public class ApiClient {
            private static final Logger logger = LoggerFactory.getLogger(ApiClient.class);
            private final String apiKey;
            public String call(String path) {
                logger.info("Calling {} with apiKey={}", path, apiKey);
                return http.get(path, apiKey);
            }
        }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        @Component
        public class RequestLogFilter extends OncePerRequestFilter {
            @Override
            protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws IOException, ServletException {
                log.info("Authorization: {}", request.getHeader("Authorization"));
                chain.doFilter(request, response);
            }
        }
    """,
        5,
    ),
    bad(
        "catastrophic-expression",
        "java",
        r"""
        public class Emails {
            public static boolean valid(String email) {
                return email.matches("^([a-zA-Z0-9]+[._-]?)+@[a-z]+\\.com$");
            }
        }
    """,
        3,
    ),
    bad(
        "released-on-success-only",
        "java",
        """
        public class Reports {
            public void write(String path, List<String> lines) throws IOException {
                FileWriter writer = new FileWriter(path);
                for (String line : lines) {
                    writer.write(line);
                }
                writer.close();
            }
        }
    """,
        3,
    ),
    bad(
        "released-on-success-only",
        "java",
        """
        public class Locks {
            private final JedisPool pool;
            public String get(String key) {
                Jedis jedis = pool.getResource();
                String value = jedis.get(key);
                jedis.close();
                return value;
            }
        }
    """,
        4,
    ),
    bad(
        "grpc-call-without-deadline",
        "java",
        """
        public class UserClient {
            private final UserServiceGrpc.UserServiceBlockingStub stub;
            public UserClient(ManagedChannel channel) {
                this.stub = UserServiceGrpc.newBlockingStub(channel);
            }
            public User get(String id) {
                return stub.getUser(GetUserRequest.newBuilder().setId(id).build());
            }
        }
    """,
        7,
    ),
    bad(
        "error-answered-as-success",
        "java",
        """
        @RestControllerAdvice
        public class Errors {
            @ExceptionHandler(Exception.class)
            public Map<String, String> handle(Exception e) {
                return Map.of("error", e.getMessage());
            }
        }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        public class Mailer {
            void connect(MailConfig config) {
                System.out.println("SMTP password: " + config.getPassword());
                log.info("Connecting as {} / {}", config.getUser(), config.getPassword());
            }
        }
    """,
        4,
    ),
    bad(
        "released-on-success-only",
        "java",
        """
        public class Repo {
            public List<String> names() throws SQLException {
                Connection conn = DriverManager.getConnection(url, user, pass);
                Statement st = conn.createStatement();
                ResultSet rs = st.executeQuery("select name from users limit 10");
                List<String> names = new ArrayList<>();
                while (rs.next()) names.add(rs.getString(1));
                rs.close(); st.close(); conn.close();
                return names;
            }
        }
    """,
        3,
    ),
    bad(
        "request-in-transaction",
        "java",
        """
        @Service
        public class SignupService {
            @Autowired private WebClient webClient;
            @Transactional
            public void signup(User user) {
                users.save(user);
                webClient.post().uri("/welcome").bodyValue(user).retrieve().toBodilessEntity().block();
            }
        }
    """,
        7,
    ),
    bad(
        "request-in-transaction",
        "java",
        """
        @Service
        public class SignupService {
            private final CrmClient crmClient;
            private final JavaMailSender mailSender;
            @Transactional
            public void signup(User user) {
                users.save(user);
                mailSender.send(message(user));
            }
        }
    """,
        8,
    ),
    bad(
        "shared-date-format",
        "java",
        """
        public class Util {
            private static DateFormat df = new SimpleDateFormat("dd/MM/yyyy");
            public static Date parse(String s) throws ParseException { return df.parse(s); }
        }
    """,
        2,
    ),
    bad(
        "acknowledged-before-work",
        "java",
        """
        public class Listener implements MessageListener {
            public void onMessage(Message message) {
                try {
                    message.acknowledge();
                    process(message);
                } catch (JMSException e) {
                    log.error("failed", e);
                }
            }
        }
    """,
        4,
    ),
    bad(
        "file-written-in-place",
        "java",
        """
        public class StateStore {
            private final Path stateFile;
            public State load() throws IOException {
                return mapper.readValue(Files.readAllBytes(stateFile), State.class);
            }
            public void save(State s) throws IOException {
                Files.write(stateFile, mapper.writeValueAsBytes(s));
            }
        }
    """,
        7,
    ),
]

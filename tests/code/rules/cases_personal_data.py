"""Objects with personal data or secrets that are written to a log whole; addresses with keys."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "secret-in-log",
        "java",
        """
    @RestController
    public class CardController {
        private static final Logger log = LoggerFactory.getLogger(CardController.class);
        public record CardRequest(
                @Size(min = 12, max = 19) String number,
                @Size(max = 4) String cvc,
                @NotBlank String holder) {}
        @PostMapping("/cards")
        public CardResponse add(@PathVariable String id, @RequestBody CardRequest card) {
            log.info("adding card for {}: {}", id, card);
            return vault.store(card);
        }
    }
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "java",
        """
    @Data
    public class SignInData {
        private String username;
        private String password;
    }
    class LoginService {
        private static final Logger log = LoggerFactory.getLogger(LoginService.class);
        public Session login(SignInData request) {
            log.debug("login attempt {}", request);
            return sessions.open(request.getUsername());
        }
    }
    """,
        9,
    ),
    good(
        "secret-in-log",
        "java",
        """
    @Data
    public class SignInData {
        private String username;
        @ToString.Exclude
        private String password;
    }
    class LoginService {
        private static final Logger log = LoggerFactory.getLogger(LoginService.class);
        public Session login(SignInData request) {
            log.debug("login attempt {}", request);
            return sessions.open(request.getUsername());
        }
    }
    """,
    ),
    bad(
        "secret-in-log",
        "java",
        """
    class Onboarding {
        private static final Logger log = LoggerFactory.getLogger(Onboarding.class);
        public record Applicant(String name, String email, String iban, LocalDate dateOfBirth) {}
        public void apply(Applicant applicant) {
            log.info("new application {}", applicant);
            repository.save(applicant);
        }
    }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "kotlin",
        """
    data class PayoutRequest(val accountHolder: String, val iban: String, val amountCents: Long)
    class PayoutService(private val bank: BankClient) {
        private val log = LoggerFactory.getLogger(javaClass)
        fun payout(request: PayoutRequest) {
            log.info("sending payout $request")
            bank.transfer(request.iban, request.amountCents)
        }
    }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "kotlin",
        """
    data class Enrolment(val deviceId: String, val refreshToken: String, val privateKey: String)
    class Enroller(private val ca: CertificateAuthority) {
        private val log = LoggerFactory.getLogger(javaClass)
        fun enrol(deviceId: String): Enrolment {
            val enrolment = issue(deviceId)
            log.info("device enrolled: {}", enrolment)
            return enrolment
        }
        private fun issue(deviceId: String): Enrolment = ca.issue(deviceId)
    }
    """,
        6,
    ),
    good(
        "secret-in-log",
        "kotlin",
        """
    data class PayoutRequest(val id: String, val accountHolder: String, val iban: String, val amountCents: Long)
    class PayoutService(private val bank: BankClient) {
        private val log = LoggerFactory.getLogger(javaClass)
        fun payout(request: PayoutRequest) {
            log.info("sending payout ${request.id}")
            bank.transfer(request.iban, request.amountCents)
        }
    }
    """,
    ),
    bad(
        "secret-in-log",
        "csharp",
        """
    public sealed record SendEmail(Guid MessageId, string Recipient, string Subject, string HtmlBody);
    public sealed class SendEmailConsumer : IConsumer<SendEmail>
    {
        public async Task Consume(ConsumeContext<SendEmail> context)
        {
            SendEmail email = context.Message;
            _logger.LogInformation("Sending {@Email}", email);
            await _ses.SendEmailAsync(ToRequest(email), context.CancellationToken);
        }
    }
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "csharp",
        """
    public record PaymentCard(string Number, string Cvc, int ExpiryMonth, int ExpiryYear);
    public class CardService
    {
        public async Task<string> TokenizeAsync(PaymentCard card)
        {
            _logger.LogDebug($"Tokenizing {card}");
            return await _vault.StoreAsync(card);
        }
    }
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "csharp",
        """
    public record Patient(Guid Id, string Name, string SocialSecurityNumber, DateOnly BirthDate);
    public class Intake
    {
        public async Task AdmitAsync(Patient patient, CancellationToken ct)
        {
            _logger.LogInformation("Admitting {Patient}", patient);
            await _repository.AddAsync(patient, ct);
        }
    }
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "rust",
        """
    #[derive(Debug, Deserialize)]
    pub struct CardRequest {
        pub number: String,
        pub cvc: String,
        pub holder: String,
    }
    pub async fn add_card(State(vault): State<Vault>, Json(card): Json<CardRequest>) -> Result<Json<Token>, ApiError> {
        tracing::info!(?card, "adding card");
        let token = vault.store(&card).await?;
        Ok(Json(token))
    }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "rust",
        """
    #[derive(Debug, Deserialize)]
    pub struct Signup {
        pub email: String,
        pub password: String,
    }
    pub async fn sign_up(Json(form): Json<Signup>) -> Result<StatusCode, ApiError> {
        log::debug!("sign-up: {:?}", form);
        store(form).await?;
        Ok(StatusCode::CREATED)
    }
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "go",
        """
    package api

    type cardRequest struct {
    	Number string `json:"number"`
    	CVC    string `json:"cvc"`
    	Holder string `json:"holder"`
    }

    func (h *Handler) AddCard(w http.ResponseWriter, r *http.Request) {
    	var req cardRequest
    	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
    		http.Error(w, "bad request", http.StatusBadRequest)
    		return
    	}
    	h.log.Info("adding card", "request", req)
    	h.vault.Store(r.Context(), req)
    }
    """,
        15,
    ),
    bad(
        "secret-in-log",
        "go",
        """
    package client

    func (c *Client) Geocode(ctx context.Context, q string) (*Place, error) {
    	u := fmt.Sprintf("%s/geocode?q=%s&key=%s", c.base, url.QueryEscape(q), c.apiKey)
    	c.log.Debug("geocoding", "url", u)
    	return c.get(ctx, u)
    }
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "go",
        """
    package client

    func (c *Client) Geocode(ctx context.Context, q string) (*Place, error) {
    	params := url.Values{}
    	params.Set("q", q)
    	params.Set("api_key", c.apiKey)
    	u := c.base + "/geocode?" + params.Encode()
    	log.Printf("GET %s", u)
    	return c.get(ctx, u)
    }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "kotlin",
        """
    class Geocoder(private val client: HttpClient, private val apiKey: String) {
        private val log = LoggerFactory.getLogger(javaClass)
        suspend fun find(q: String): Place {
            val url = "$base/geocode?q=${q.encodeURLParameter()}&key=$apiKey"
            log.debug("GET {}", url)
            return client.get(url).body()
        }
    }
    """,
        5,
    ),
    good(
        "secret-in-log",
        "java",
        """
    class Orders {
        private static final Logger log = LoggerFactory.getLogger(Orders.class);
        public record OrderPlaced(String orderId, String number, long amountCents) {}
        public void on(OrderPlaced event) {
            log.info("order {}", event);
            repository.save(event);
        }
    }
    """,
    ),
]

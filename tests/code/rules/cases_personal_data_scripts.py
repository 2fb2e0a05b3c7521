"""Objects with personal data or secrets in the logs of Python and JavaScript."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "secret-in-log",
        "python",
        """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Card:
        number: str
        cvc: str
        holder: str

    def tokenize(card: Card) -> str:
        log.info("tokenizing %s", card)
        return vault.store(card)
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "python",
        """
    from pydantic import BaseModel

    class PatientIn(BaseModel):
        name: str
        ssn: str
        date_of_birth: date

    @router.post("/patients")
    async def create(patient: PatientIn):
        logger.info("creating patient %s", patient.model_dump())
        return await repo.add(patient)
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "python",
        """
    def geocode(session, q, api_key):
        params = {"q": q, "key": api_key}
        log.debug("geocode request %s", params)
        return session.get(BASE, params=params, timeout=5).json()
    """,
        3,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
    router.post('/cards', async (req, res) => {
      logger.info({ body: req.body }, 'adding card');
      const { number, cvc, expiry } = req.body;
      const token = await vault.tokenize({ number, cvc, expiry });
      res.status(201).json({ token });
    });
    """,
        2,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
    app.post('/users', async (req, res) => {
      logger.debug('create user', req.body);
      const user = await users.create({ email: req.body.email, passwordHash: await hash(req.body.password) });
      res.status(201).json({ id: user.id });
    });
    """,
        2,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
    const axios = require('axios');
    const pino = require('pino');
    async function exchange(client, log, params) {
      try {
        const { data } = await client.post('/token', { client_secret: params.secret, refresh_token: params.refresh });
        return data;
      } catch (err) {
        log.error({ err }, 'token exchange failed');
        throw err;
      }
    }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "typescript",
        """
    import axios, { AxiosError } from 'axios';
    export async function charge(client: AxiosInstance, logger: Logger, payload: Charge) {
      try {
        return (await client.post('/charges', payload)).data;
      } catch (err) {
        logger.error({ err: (err as AxiosError).toJSON() }, 'charge failed');
        throw err;
      }
    }
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "typescript",
        """
    export interface CreateCard { number: string; cvc: string; expiry: string }
    @Controller('cards')
    export class CardsController {
      private readonly logger = new Logger(CardsController.name);
      @Post()
      async create(@Body() card: CreateCard) {
        this.logger.log(`adding card ${JSON.stringify(card)}`);
        return this.vault.store(card);
      }
    }
    """,
        7,
    ),
    good(
        "secret-in-log",
        "typescript",
        """
    export interface CreateCard { number: string; cvc: string; expiry: string }
    @Controller('cards')
    export class CardsController {
      private readonly logger = new Logger(CardsController.name);
      @Post()
      async create(@Body() card: CreateCard) {
        this.logger.log(`adding card ending in ${card.number.slice(-4)}`);
        return this.vault.store(card);
      }
    }
    """,
    ),
    bad(
        "secret-in-log",
        "typescript",
        """
    export class Geocoder {
      async find(q: string): Promise<Place> {
        const url = new URL('/geocode', this.base);
        url.searchParams.set('q', q);
        url.searchParams.set('api_key', this.apiKey);
        this.logger.debug(`GET ${url}`);
        const res = await fetch(url, { signal: AbortSignal.timeout(5000) });
        return res.json();
      }
    }
    """,
        6,
    ),
]

import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { readHash } from "./imported-hashes.ts"
import { ADMIN, browserOf, newAddress, refusal, tokensOf } from "./testing/people.ts"

const HOUR = 3_600_000

/** The parameters of https://github.com/firebase/scrypt, whose README has the salt, the hash and the password too. */
const FIREBASE = {
  signer_key: "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
  salt_separator: "Bw==",
  rounds: 8,
  memory_cost: 14,
}
const FIREBASE_ROW = {
  password_hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
  password_salt: "42xEC+ixf3L2lw==",
}
const FIREBASE_PASSWORD = "user1password"
const FIREBASE_TEXT = `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=${FIREBASE.signer_key}$${FIREBASE_ROW.password_salt}$${FIREBASE_ROW.password_hash}`

/** RFC 7914, section 12. */
const RFC_SCRYPT = Buffer.from(
  "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
  "hex",
)
const unpadded = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "")

/** Of the documentation of PHP, of jBCrypt's tests, of the reference implementation of Argon2, and of the two above. */
const PUBLISHED = [
  ["$2y$07$usesomesillystringfore2uDLvp1Ii2e./U9C8sBjqp8I90dH6hi", "rasmuslerdorf"],
  ["$2a$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC", "abcdefghijklmnopqrstuvwxyz"],
  ["$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "password"],
  ["$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"],
  [
    `$scrypt$ln=14,r=8,p=1$${unpadded(Buffer.from("SodiumChloride"))}$${unpadded(RFC_SCRYPT)}`,
    "pleaseletmein",
  ],
  [FIREBASE_TEXT, FIREBASE_PASSWORD],
] as const

const [[BCRYPT, BCRYPT_PASSWORD]] = PUBLISHED

const storedHash = async (p: TestPlatform, email: string) => {
  const { password_hash } = await p.database.db
    .selectFrom("auth.users")
    .select("password_hash")
    .where("email", "=", email)
    .executeTakeFirstOrThrow()
  return password_hash ?? ""
}

test("published hashes of every kind are imported, sign in, and are then replaced by ours", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const browser = await browserOf(p, "acme")
  const people = [
    ...PUBLISHED.map(([password_hash, password]) => ({ email: newAddress(), password_hash, password })),
    { email: newAddress(), ...FIREBASE_ROW, password: FIREBASE_PASSWORD },
  ]
  const reply = await admin.auth.importUsers({
    users: people.map(({ password, ...user }) => ({ ...user, email_confirmed: true })),
    firebase_scrypt: FIREBASE,
  })
  assert.deepEqual([reply.created, reply.existing, reply.failed], [people.length, 0, 0])
  for (const { email, password } of people) {
    assert.match(await storedHash(p, email), /^svc:box/)
    assert.equal(
      await refusal(browser.auth.login({ email, password: `${password}!` })),
      "invalid_credentials",
    )
    // Both at once: the one that comes second finds the hash replaced.
    const both = await Promise.all([1, 2].map(() => browser.auth.login({ email, password })))
    for (const one of both) assert.equal(tokensOf(one).user.email, email)
    assert.match(await storedHash(p, email), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    tokensOf(await browser.auth.login({ email, password }))
    assert.equal(
      await refusal(browser.auth.login({ email, password: `${password}!` })),
      "invalid_credentials",
    )
  }
})

test("rows are taken or refused each on its own, and a second call changes nobody", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const browser = await browserOf(p, "acme")
  const [known, email, banned] = [newAddress(), newAddress(), newAddress()]
  const present = await admin.auth.createUser({ email: known, password: "the password of before" })
  const id = "8b1c2d3e-4f50-4a61-8b72-9c83ad94be05"
  const users = [
    {
      id,
      email,
      password_hash: BCRYPT,
      created_at: "2021-05-06T07:08:09Z",
      email_confirmed: true,
      app_metadata: { plan: "gold" },
    },
    { email: known.toUpperCase(), password_hash: BCRYPT },
    { email: email.toUpperCase() },
    { email: "nobody" },
    { email: newAddress(), password_hash: BCRYPT.replace("$07$", "$13$") },
    { email: newAddress(), user_metadata: { a: "x".repeat(20_000) } },
    { email: newAddress(), created_at: new Date(p.clock.now() + HOUR).toISOString() },
    { email: newAddress(), ...FIREBASE_ROW },
    { email: banned, password_hash: BCRYPT, banned_until: new Date(p.clock.now() + HOUR).toISOString() },
  ]
  const first = await admin.auth.importUsers({ users })
  assert.deepEqual(
    first.users.map(({ status }) => status),
    ["created", "existing", "existing", "failed", "failed", "failed", "failed", "failed", "created"],
  )
  assert.deepEqual([first.users[0]?.id, first.users[1]?.id, first.users[2]?.id], [id, present.id, id])
  assert.match(first.users[4]?.error ?? "", /too costly/)
  const shown = await admin.auth.showUser({ id })
  assert.deepEqual([shown.created_at, shown.app_metadata], ["2021-05-06T07:08:09.000Z", { plan: "gold" }])
  assert.equal(shown.email_confirmed_at, "2021-05-06T07:08:09.000Z")
  assert.equal(await refusal(browser.auth.login({ email: banned, password: BCRYPT_PASSWORD })), "user_banned")
  tokensOf(await browser.auth.login({ email: known, password: "the password of before" }))
  await admin.auth.manageUser({ id, password: "another horse battery" })

  const second = await admin.auth.importUsers({ users })
  assert.deepEqual([second.created, second.existing, second.failed], [0, 4, 5])
  tokensOf(await browser.auth.login({ email, password: "another horse battery" }))
  assert.equal(await refusal(browser.auth.login({ email, password: BCRYPT_PASSWORD })), "invalid_credentials")

  // The id is another project's there, which is told apart from nobody's.
  const other = await (await p.client("globex", ...ADMIN)).auth.importUsers({ users: [{ id, email }] })
  assert.deepEqual(other.users[0]?.status, "failed")
  assert.equal(await refusal(browser.auth.importUsers({ users })), "publishable_key_not_allowed")
})

test("a wrong password reads the same for users who were imported, for others and for nobody", async t => {
  const p = await platform(t)
  const admin = await p.client("acme", ...ADMIN)
  const browser = await browserOf(p, "acme")
  const [imported, ours] = [newAddress(), newAddress()]
  await admin.auth.importUsers({ users: [{ email: imported, password_hash: BCRYPT }] })
  await admin.auth.createUser({ email: ours, password: "correct horse battery" })
  const answers = []
  for (const email of [imported, ours, newAddress()]) {
    const error = await browser.auth.login({ email, password: "wrong" }).catch((caught: unknown) => caught)
    const { status, code, message } = error as { status: number; code: string; message: string }
    answers.push({ status, code, message })
  }
  assert.equal(answers[0]?.code, "invalid_credentials")
  assert.deepEqual(answers[1], answers[0])
  assert.deepEqual(answers[2], answers[0])
})

test("a password longer than bcrypt reads keeps its old hash", async t => {
  const { hash } = await import("@node-rs/bcrypt")
  const p = await platform(t)
  const email = newAddress()
  const long = "x".repeat(72)
  await (await p.client("acme", ...ADMIN)).auth.importUsers({
    users: [{ email, password_hash: await hash(`${long}right`, 4) }],
  })
  const browser = await browserOf(p, "acme")
  tokensOf(await browser.auth.login({ email, password: `${long}mistyped` }))
  tokensOf(await browser.auth.login({ email, password: `${long}right` }))
  assert.match(await storedHash(p, email), /^svc:box/)
})

test("hashes that are too costly, broken or of no known kind are refused before anything is computed", () => {
  const [salt, digest] = ["c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"]
  const refused = [
    BCRYPT.replace("$07$", "$13$"),
    BCRYPT.replace("$07$", "$03$"),
    BCRYPT.replace("$2y$", "$2x$"),
    BCRYPT.slice(0, -1),
    `$argon2id$v=19$m=65537,t=1,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=65536,t=5,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=65536,t=1,p=9$${salt}$${digest}`,
    `$argon2id$v=19$m=4,t=1,p=1$${salt}$${digest}`,
    `$argon2d$v=19$m=64,t=1,p=1$${salt}$${digest}`,
    `$argon2id$v=16$m=64,t=1,p=1$${salt}$${digest}`,
    `$argon2id$v=19$m=64,t=1,p=1$a$${digest}`,
    `$scrypt$ln=17,r=8,p=1$${salt}$${digest}`,
    `$scrypt$ln=16,r=8,p=3$${salt}$${digest}`,
    `$scrypt$ln=99,r=8,p=1$${salt}$${digest}`,
    `$scrypt$ln=14,r=8,p=1$${salt}$!`,
    FIREBASE_TEXT.replace("n=14", "n=17"),
    FIREBASE_TEXT.replace("sk=", "sk=AAAA"),
    "5f4dcc3b5aa765d61d8327deb882cf99",
    "",
  ]
  for (const text of refused) assert.equal(typeof readHash(text), "string", text)
  for (const [text] of PUBLISHED) assert.equal(typeof readHash(text), "object", text)
})

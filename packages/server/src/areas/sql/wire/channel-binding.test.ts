import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { createHash, webcrypto } from "node:crypto"
import { type Duplex, duplexPair } from "node:stream"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import { X509CertificateGenerator } from "@peculiar/x509"
import pg from "pg"
import { endPointBinding } from "./channel-binding.ts"
import { WireRefusal } from "./error-response.ts"
import { message, readMessage } from "./scram.ts"
import { challengeClient, readClientFirst } from "./scram-server.ts"
import { GUEST, PASSWORD, startCluster, type TestCluster } from "./testing/cluster.ts"
import { startWire, until, verifierIn } from "./testing/platform.ts"

const UNKNOWN = "0198c0de-0000-7000-8000-00000000dead"

const bound = { ssl: { rejectUnauthorized: false }, enableChannelBinding: true }

const withoutPsql = (() => {
  try {
    execFileSync("psql", ["--version"], { stdio: "ignore" })
    return false
  } catch {
    return "psql is not installed"
  }
})()

const errorOf = async (connecting: Promise<unknown>) => {
  const { message, code, severity } = await connecting.then(
    () => assert.fail("logged in"),
    (error: Record<string, unknown>) => error,
  )
  return { message, code, severity }
}

describe("a login that is bound to its TLS connection", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
  })
  after(() => cluster[Symbol.asyncDispose]())

  const serve = async (t: Parameters<typeof startWire>[0]) => {
    let reads = 0
    const read = verifierIn([cluster])
    const started = await startWire(t, [cluster], {
      verifier: request => {
        reads += 1
        return read(request)
      },
    })
    return { ...started, reads: () => reads }
  }

  test("gets in by psql with channel_binding=require, as the role itself", { skip: withoutPsql }, async t => {
    const { url } = await serve(t)
    const uri = `${url(cluster.branchId)}?sslmode=require&channel_binding=require`
    const { stdout } = await promisify(execFile)("psql", ["-XAtc", "select session_user", uri])
    assert.equal(stdout, "owner\n")
  })

  test("gets in by pg, and what the server keeps of a password is read once while it stays", async t => {
    const { connect, reads } = await serve(t)
    for (let login = 0; login < 3; login++) {
      const client = await connect(cluster.branchId, bound)
      assert.deepEqual((await client.query("select session_user as me")).rows, [{ me: "owner" }])
      await client.end()
    }
    assert.equal(reads(), 1)
  })

  test("is refused with a wrong password as one that is not bound, whatever the role and the branch", async t => {
    const { connect } = await serve(t)
    const refused = (user: string) => ({
      message: `password authentication failed for user "${user}"`,
      code: "28P01",
      severity: "FATAL",
    })
    const tried = (branchId: string, user: string, more: pg.ClientConfig) =>
      errorOf(connect(branchId, { user: `${user}.${branchId}`, password: "wrong", ...more }))
    for (const more of [bound, { ssl: bound.ssl }, {}]) {
      assert.deepEqual(await tried(cluster.branchId, "owner", more), refused("owner"))
      assert.deepEqual(await tried(cluster.branchId, "nobody", more), refused("nobody"))
      assert.deepEqual(await tried(UNKNOWN, "owner", more), refused("owner"))
    }
  })

  test("needs the password that the role has now", async t => {
    const { connect } = await serve(t)
    await (await connect(cluster.branchId, bound)).end()
    await cluster.ask("ALTER ROLE owner PASSWORD 'another'")
    t.after(() => cluster.ask(`ALTER ROLE owner PASSWORD '${PASSWORD}'`))
    await (await connect(cluster.branchId, { ...bound, password: "another" })).end()
    assert.equal((await errorOf(connect(cluster.branchId, bound))).code, "28P01")
  })

  test("is offered where the role needs no password, and not asked for", async t => {
    const { connect } = await serve(t)
    const client = await connect(cluster.branchId, { ...bound, user: `${GUEST}.${cluster.branchId}` })
    assert.deepEqual((await client.query("select session_user as me")).rows, [{ me: GUEST }])
  })

  test("is not offered where the engine does not tell what servers keep", { skip: withoutPsql }, async t => {
    const { url } = await startWire(t, [cluster])
    const uri = url(cluster.branchId)
    const psql = (query: string) => promisify(execFile)("psql", ["-XAtc", "select 1", `${uri}?${query}`])
    await psql("sslmode=require")
    await assert.rejects(psql("sslmode=require&channel_binding=require"), /channel binding is required/)
  })

  test("that the client gives up leaves no session behind", async t => {
    const { connect, wire } = await serve(t)
    const client = new pg.Client({
      host: "127.0.0.1",
      port: wire.port,
      user: `owner.${cluster.branchId}`,
      database: "app",
      ...bound,
      password: () => {
        client.connection.stream.destroy()
        return "gone"
      },
    } as pg.ClientConfig) as pg.Client & { connection: { stream: Duplex } }
    client.on("error", () => undefined)
    await assert.rejects(client.connect())
    await until("the session is gone", async () => {
      const rows = await cluster.ask(
        "select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      )
      return rows.length === 0
    })
    await connect(cluster.branchId, bound)
  })
})

const sasl = (mechanism: string, first: string): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(first.length)
  return message("p", Buffer.concat([Buffer.from(`${mechanism}\0`), length, Buffer.from(first)]))
}

/** What becomes of a client that sends these two messages; `$r` stands for the server's nonce. */
const exchange = async (binding: Buffer, mechanism: string, first: string, last: string) => {
  const [client, server] = duplexPair()
  const login = async () => {
    const begun = await readClientFirst(server, binding)
    assert.ok(begun)
    await challengeClient(server, begun, { salt: "c2FsdA==", iterations: 4096 }, binding)
  }
  const ended = login().then(
    () => "in time for the proof",
    (error: unknown) => (error instanceof WireRefusal ? `${error.sqlstate}: ${error.message}` : `${error}`),
  )
  await readMessage(client)
  client.write(sasl(mechanism, first))
  const challenge = await Promise.race([readMessage(client), ended.then(() => undefined)])
  const nonce = /r=([^,]+)/.exec(challenge?.payload.toString("latin1", 4) ?? "")?.[1] ?? ""
  client.write(message("p", last.replace("$r", nonce)))
  return await ended
}

test("a login that was bound to another connection, or whose offer was taken away, is refused", async () => {
  const binding = Buffer.alloc(32, "the certificate here")
  const plus = "SCRAM-SHA-256-PLUS"
  const header = "p=tls-server-end-point,,"
  const lastOf = (data: Buffer) => `c=${data.toString("base64")},r=$r,p=AAAA`
  const own = lastOf(Buffer.concat([Buffer.from(header), binding]))
  const other = lastOf(Buffer.concat([Buffer.from(header), Buffer.alloc(32, "another one")]))
  assert.equal(await exchange(binding, plus, `${header}n=,r=abc`, own), "in time for the proof")
  const mismatch = "28000: SCRAM channel binding check failed"
  assert.equal(await exchange(binding, plus, `${header}n=,r=abc`, other), mismatch)
  const downgrade = "08P01: SCRAM channel binding negotiation error"
  assert.equal(await exchange(binding, "SCRAM-SHA-256", "y,,n=,r=abc", "c=eSws,r=$r,p=AAAA"), downgrade)
  const malformed = "08P01: malformed SCRAM message"
  assert.equal(await exchange(binding, plus, "n,,n=,r=abc", own), malformed)
  assert.equal(await exchange(binding, plus, "p=tls-unique,,n=,r=abc", own), malformed)
  assert.equal(await exchange(binding, plus, `${header}n=,r=abc`, own.replace("$r", "abcdef")), malformed)
})

test("the binding is the certificate's hash, by its signature's algorithm, and at least SHA-256", async () => {
  const certificateBy = async (algorithm: webcrypto.AlgorithmIdentifier) => {
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
      "sign",
      "verify",
    ])) as webcrypto.CryptoKeyPair
    return X509CertificateGenerator.createSelfSigned({
      name: "CN=test",
      keys,
      signingAlgorithm: algorithm as never,
    })
  }
  const ecdsa = (hash: string) => ({ name: "ECDSA", namedCurve: "P-256", hash })
  const rsa = (name: string, hash: string) => ({
    ...{ name, hash, modulusLength: 2048 },
    publicExponent: new Uint8Array([1, 0, 1]),
  })
  const cases: [webcrypto.Algorithm & { readonly saltLength?: number }, string | undefined][] = [
    [ecdsa("SHA-256"), "sha256"],
    [ecdsa("SHA-384"), "sha384"],
    [rsa("RSASSA-PKCS1-v1_5", "SHA-512"), "sha512"],
    [rsa("RSASSA-PKCS1-v1_5", "SHA-1"), "sha256"],
    [{ ...rsa("RSA-PSS", "SHA-256"), saltLength: 32 }, undefined],
    [{ name: "Ed25519" }, undefined],
  ]
  for (const [algorithm, hash] of cases) {
    const made = await certificateBy(algorithm)
    const expected = hash && createHash(hash).update(Buffer.from(made.rawData)).digest()
    assert.deepEqual(endPointBinding(made.toString("pem")), expected, JSON.stringify(algorithm))
  }
})
